package selection

import (
	"cmp"
	"fmt"
	"math"
	"slices"

	"github.com/schedgen/schedgen/schedule"
	"github.com/schedgen/schedgen/sim"
)

// Candidate is an algorithm with parameters, and what it costs.
type Candidate struct {
	Algorithm string
	Params    schedule.Params // complete, with root 0
	Time      sim.Time        // when the last rank returns; sim.Never: too large to be computed
}

// The bounds of schedules that are run in the model: a million deliveries take about a second.
const (
	maxDeliveries = 1 << 20
	maxSearched   = 1 << 17 // with parameters that a search tries
)

// Cost returns when the last rank returns from an operation in a case, on the case's hosts,
// in a model of package sim, sim.Never if the schedule has more than 2^20 deliveries. A
// multicast is one send there, and none is lost. The error is that of schedule.New or sim.Run.
func Cost(name string, p schedule.Params, c Case, m sim.Model) (sim.Time, error) {
	of, err := priced(name, p, &c, m, maxDeliveries)
	return of.Time, err
}

// modelled returns the hosts on which the ranks are in a model, 0 if each is on its own.
func (c *Case) modelled() int {
	if c.Place == OneHost {
		return 1
	}
	return c.Hosts
}

// priced returns a candidate without its time if it has more deliveries than most.
func priced(name string, p schedule.Params, in *Case, m sim.Model, most int64) (Candidate, error) {
	spec, err := schedule.New(name, p)
	if err != nil {
		return Candidate{}, err
	}
	c := Candidate{name, spec.Params(), sim.Never}
	alg := spec.Algorithm()
	slots := int64(c.Params.Ranks) * int64(max(c.Params.Chunks, 1))
	if _, actions := spec.Size(); actions > most || (alg.Multicasts() || sized(alg.Collective)) && slots > most {
		return c, nil
	}
	r, err := sim.Run(spec, sim.Config{Model: m, Bytes: in.Bytes, Hosts: in.modelled(), Fold: sim.DefaultFold})
	if err != nil {
		return Candidate{}, fmt.Errorf("model of %s: %w", name, err)
	}
	c.Time = r.Makespan
	return c, nil
}

// Choose returns what takes the least time in a case on a modelled machine: an
// algorithm of the collective with its degree, fans and chunks. It is the first of Compare,
// and an error where none can be computed.
func Choose(c Case, m sim.Model) (Candidate, error) {
	all, err := Compare(c, m)
	if err != nil {
		return Candidate{}, err
	}
	if len(all) == 0 || all[0].Time == sim.Never {
		return Candidate{}, fmt.Errorf("%v: too large to be computed", &c)
	}
	return all[0], nil
}

// Compare returns for each algorithm of the case's collective the best parameters that a
// search finds, the one that takes the least time first. Algorithms that multicast are
// left out without multicast. Where hosts have several ranks, those that can run between masters do.
// If the model says what messages within a host take they are compared flat as well, and are there
// twice; else every message costs the same, so that nothing says whether masters are worth it.
//
// A search runs the schedule for some numbers of chunks, a factor of 1.4 from each other, or
// for degrees and fans near the roots of the number of ranks, which is where steps become fewer,
// as far as that makes no more than 2^17 deliveries.
func Compare(c Case, m sim.Model) ([]Candidate, error) {
	var all []Candidate
	for _, alg := range schedule.Algorithms() {
		if alg.Collective != c.Collective || alg.Multicasts() && !c.Multicast {
			continue
		}
		for _, hosts := range groupings(&alg, &c, m) {
			s := search{alg: alg, c: &c, m: m, params: schedule.Params{Ranks: c.Ranks, Hosts: hosts}}
			best, err := s.run()
			if err != nil {
				return nil, err
			}
			all = append(all, best)
		}
	}
	slices.SortStableFunc(all, compare)
	return all, nil
}

// groupings returns the hosts between whose masters an algorithm is to be tried, 0 for flat.
func groupings(alg *schedule.Algorithm, c *Case, m sim.Model) []int {
	of, ok := m.(sim.LogGP)
	switch {
	case c.Hosts == 0 || !slices.Contains(alg.Params, "hosts"):
		return []int{0}
	case !ok || of.Near == nil:
		return []int{c.Hosts}
	}
	return []int{0, c.Hosts}
}

// compare orders candidates by time, those that are not known last.
func compare(a, b Candidate) int { return cmp.Compare(uint64(a.Time), uint64(b.Time)) }

// search looks for the best parameters of an algorithm.
type search struct {
	alg    schedule.Algorithm
	c      *Case
	m      sim.Model
	params schedule.Params
	best   Candidate
}

// run tries values of one parameter after the other, each with the best of those before. The
// fans of gathering and releasing are the only two that an algorithm has, and they hardly
// depend on each other: the one tree begins where the other has ended.
func (s *search) run() (Candidate, error) {
	var err error
	if s.best, err = priced(s.alg.Name, s.params, s.c, s.m, maxDeliveries); err != nil {
		return s.best, err
	}
	for _, p := range []struct {
		name   string
		values []int
		set    func(p *schedule.Params, v int)
	}{
		{"degree", fans(s.group(), s.group()), func(p *schedule.Params, v int) { p.Degree = max(v, 2) }},
		{"fan-in", fans(s.group(), s.group()-1), func(p *schedule.Params, v int) { p.FanIn = v }},
		{"fan-out", fans(s.group(), s.group()-1), func(p *schedule.Params, v int) { p.FanOut = v }},
		{"chunks", s.chunks(), func(p *schedule.Params, v int) { p.Chunks = v }},
	} {
		if !slices.Contains(s.alg.Params, p.name) {
			continue
		}
		if err := s.tryAll(p.values, p.set); err != nil {
			return s.best, err
		}
	}
	return s.best, nil
}

// tryAll tries ascending values of a parameter. Beyond one with which all takes more than
// twice as long as with the best so far, and which is larger than that, none is better.
func (s *search) tryAll(values []int, set func(p *schedule.Params, v int)) error {
	for _, v := range values {
		p := s.best.Params
		if set(&p, v); p == s.best.Params {
			continue
		}
		c, err := priced(s.alg.Name, p, s.c, s.m, maxSearched)
		switch {
		case err != nil:
			return err
		case c.Time == sim.Never:
			return nil
		case compare(c, s.best) < 0:
			s.best = c
		case s.best.Time > 0 && c.Time/2 > s.best.Time && p.Chunks > s.best.Params.Chunks:
			return nil
		}
	}
	return nil
}

// group returns how many ranks, or hosts, the algorithm runs between.
func (s *search) group() int {
	if s.params.Hosts > 0 {
		return s.params.Hosts
	}
	return s.params.Ranks
}

// smallGroupFans is up to how many ranks all fans and degrees are tried.
const smallGroupFans = 32

// fans returns degrees or fans to try for a group, 1 to most: all of a small group; else
// those up to 8, and for each number of steps the least with which that many are enough.
func fans(group, most int) (values []int) {
	most = max(most, 1)
	for v := 1; v <= most && (group <= smallGroupFans || v <= 8); v++ {
		values = append(values, v)
	}
	for steps := 1; group > smallGroupFans && 1<<(steps-1) < group; steps++ {
		root := int(math.Ceil(math.Pow(float64(group), 1/float64(steps)) - 1e-9))
		values = append(values, min(root, most), min(max(root-1, 1), most))
	}
	slices.Sort(values)
	return slices.Compact(values)
}

// chunks returns numbers of chunks to try, as many as the message has bytes at most. A pipeline takes
// a sum of what grows and what shrinks with them, so that a factor of 1.2 from the best number costs
// 2 % at most.
func (s *search) chunks() (values []int) {
	for f := 1.0; f <= maxChunks; f *= math.Sqrt2 {
		if v := int(math.Round(f)); v <= max(s.c.Bytes, 1) {
			values = append(values, v)
		}
	}
	return slices.Compact(values)
}
