package selection

import (
	"cmp"
	"errors"
	"fmt"
	"math"
	"slices"

	"github.com/schedgen/schedgen/schedule"
	"github.com/schedgen/schedgen/sim"
)

// Candidate is an algorithm with parameters, and its time.
type Candidate struct {
	Algorithm string          // its full name, such as "bcast/chain"
	Params    schedule.Params // all parameters, with root 0
	Time      sim.Time        // when the last rank returns; sim.Never: too large to compute
}

// Bounds of schedules that run in the model. They hold for the number of actions, and for the
// number of ranks times the number of chunks of a block. A million deliveries take about a second.
const (
	maxDeliveries = 1 << 20
	maxSearched   = 1 << 17 // with parameters that a search tries
)

// Lossy is a model of a network that loses multicasts. The time of an algorithm that multicasts is the
// mean of up to 32 operations, fewer for large schedules.
type Lossy struct {
	sim.Model
	Loss   float64  // probability that a rank misses a multicast
	Fanout sim.Time // additional time of a multicast compared with a put
	Repair sim.Time // the base timeout of repairs
}

// runs is the number of operations with losses of which the mean is taken.
const runs = 32

// Cost returns the time when the last rank returns from an operation in case c, on the case's
// hosts, in a model of package sim. It returns sim.Never if the schedule has more than 2^20
// actions, or if the number of ranks times the number of chunks of a block is larger. A multicast
// is one send, and none is lost, unless the model is Lossy. The error comes from schedule.New or
// sim.Run.
func Cost(name string, p schedule.Params, c Case, m sim.Model) (sim.Time, error) {
	of, err := priced(name, p, &c, m, maxDeliveries)
	return of.Time, err
}

// modelled returns the number of hosts for the model, 0 if each rank is on its own host.
func (c *Case) modelled() int {
	if c.Place == OneHost {
		return 1
	}
	return c.Hosts
}

// priced returns a candidate. Its time is sim.Never if the schedule exceeds the bound most.
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
	config := sim.Config{Model: m, Bytes: in.Bytes, Hosts: in.modelled(), Fold: sim.DefaultFold}
	n := 1
	if lossy, ok := m.(Lossy); ok {
		if config.Model = lossy.Model; alg.Multicasts() {
			config.Loss, config.Fanout, config.Repair = lossy.Loss, lossy.Fanout, lossy.Repair
		}
		if _, actions := spec.Size(); config.Loss > 0 {
			n = int(min(runs, 1+maxSearched/(1+actions)))
		}
	}
	if c.Time, err = mean(spec, config, n); err != nil {
		return Candidate{}, fmt.Errorf("model of %s: %w", name, err)
	}
	return c, nil
}

// mean returns the mean time of n operations, or sim.Never if one of them does not end.
func mean(spec *schedule.Spec, config sim.Config, n int) (sim.Time, error) {
	s, err := sim.New(spec, config)
	if err != nil {
		return sim.Never, err
	}
	var sum sim.Time
	for seed := range uint64(n) {
		r, err := s.Run(seed)
		if err != nil || r.Makespan == sim.Never {
			return sim.Never, err
		}
		sum += r.Makespan
	}
	return sum / sim.Time(n), nil
}

// Choose returns the candidate that takes the least time in a case on a modelled machine: an
// algorithm of the collective with its degree, fans and chunks. It is the first result of Compare.
// Choose fails if no time can be computed.
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

// Compare returns, for each algorithm of the case's collective, the best parameters that a search
// finds. The fastest candidate comes first. Without multicast, Compare leaves out algorithms that
// multicast. If hosts have several ranks, algorithms that can run between masters do so. If the
// model also has a cost for messages within a host, such an algorithm has two candidates, flat and
// between masters. Otherwise every message costs the same, and the model cannot say whether masters
// are worthwhile.
//
// The search starts with the default parameters, and then tries others. It tries numbers of chunks
// that grow by a factor of 1.4. It tries degrees and fans near the roots of the number of ranks,
// where the number of steps drops. A schedule with other than default parameters may have at most
// 2^17 actions. Compare ignores Memory, Rings, Ordered and Reproducible of the case. The error is
// as for Cost.
func Compare(c Case, m sim.Model) ([]Candidate, error) {
	var all []Candidate
	for _, alg := range schedule.Algorithms() {
		if alg.Collective != c.Collective || alg.Multicasts() && !c.Multicast {
			continue
		}
		for _, hosts := range groupings(&alg, &c, m) {
			s := search{alg: alg, c: &c, m: m, params: schedule.Params{Ranks: c.Ranks, Hosts: hosts}}
			best, err := s.tryParameters()
			if _, own := errors.AsType[*schedule.BuildError](err); own {
				continue // it does not exist for so many ranks, or is wrong
			} else if err != nil {
				return nil, err
			}
			all = append(all, best)
		}
	}
	slices.SortStableFunc(all, compare)
	return all, nil
}

// groupings returns the numbers of hosts for which to try an algorithm between masters. 0 means
// flat.
func groupings(alg *schedule.Algorithm, c *Case, m sim.Model) []int {
	if lossy, ok := m.(Lossy); ok {
		m = lossy.Model
	}
	of, ok := m.(sim.LogGP)
	switch {
	case c.Hosts == 0 || !slices.Contains(alg.Params, "hosts"):
		return []int{0}
	case !ok || of.Near == nil:
		return []int{c.Hosts}
	}
	return []int{0, c.Hosts}
}

// compare orders candidates by time. Candidates without a time come last.
func compare(a, b Candidate) int { return cmp.Compare(uint64(a.Time), uint64(b.Time)) }

// search looks for the best parameters of an algorithm.
type search struct {
	alg    schedule.Algorithm
	c      *Case
	m      sim.Model
	params schedule.Params
	best   Candidate
}

// tryParameters tries values of one parameter after the other, each with the best values of the
// earlier ones. Only the fans of gathering and releasing occur together in an algorithm. They
// hardly depend on each other, because one tree starts where the other ends.
func (s *search) tryParameters() (Candidate, error) {
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

// tryAll tries ascending values of a parameter. It stops at a value that is larger than the best so
// far and takes more than twice as long, because larger values will not be better.
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

// group returns the number of ranks, or hosts, among which the algorithm runs.
func (s *search) group() int {
	if s.params.Hosts > 0 {
		return s.params.Hosts
	}
	return s.params.Ranks
}

// smallGroupFans is the largest group for which all fans and degrees are tried.
const smallGroupFans = 32

// fans returns degrees or fans in 1 … most to try for a group. For a small group it returns all of
// them. Otherwise it returns the numbers up to 8, and for each number of steps the least number
// that is enough and the number below it.
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

// chunks returns numbers of chunks to try, up to the number of bytes of the message. The time of a
// pipeline is a sum of parts that grow and parts that shrink with the number of chunks. So a factor
// of 1.2 from the best number costs at most 2 %.
func (s *search) chunks() (values []int) {
	for f := 1.0; f <= maxChunks; f *= math.Sqrt2 {
		if v := int(math.Round(f)); v <= max(s.c.Bytes, 1) {
			values = append(values, v)
		}
	}
	return slices.Compact(values)
}
