package papers

import (
	"context"
	"fmt"
	"slices"

	"github.com/schedgen/schedgen/schedule"
	"github.com/schedgen/schedgen/sim"
)

// delayRanks is the number of ranks in the comparison of root-delay policies. It is not a power of
// two.
const delayRanks = 24

// pattern is how ranks enter, given a spread.
type pattern func(spread sim.Time) sim.Arrival

func rootFirst(spread sim.Time) sim.Arrival { return sim.Arrival{Others: spread, Skew: spread} }
func random(spread sim.Time) sim.Arrival    { return sim.Arrival{Skew: spread} }
func oneLate(spread sim.Time) sim.Arrival   { return sim.Arrival{Late: spread} }

func delayRootFirst000(_ context.Context, o Options) (*Figure, error) {
	f, heard, err := delays000(o, rootFirst)
	if err != nil {
		return nil, err
	}
	n := float64(delayRanks - 1)
	f.Claims = []Claim{{"§2.2", "ranks that get the multicast, a random peer is awaited", "%", 50, 100 * (n + 1) / (2 * n), heard}}
	f.Notes = append([]string{"The root enters within the spread, and the others within as long a time behind it: the worst pattern. The drawn peer is the k-th of n = 23 to enter with equal chance, " +
		"so (n+1)/2n of the ranks have entered with it or before; the simulation has those besides that enter while its message and the multicast are on their way, the less the wider the spread."}, f.Notes...)
	return f, nil
}

func delayRandom000(_ context.Context, o Options) (*Figure, error) {
	f, _, err := delays000(o, random)
	if err != nil {
		return nil, err
	}
	f.Notes = append([]string{"All ranks enter at random within the spread."}, f.Notes...)
	return f, nil
}

func delayOneLate000(_ context.Context, o Options) (*Figure, error) {
	f, _, err := delays000(o, oneLate)
	if err != nil {
		return nil, err
	}
	f.Notes = append([]string{"One rank, drawn anew for each operation, enters later than all others by the spread; the chain's copy waits for it. " +
		"It delays one successor, as section 2.2 says, and nobody where the others have the multicast."}, f.Notes...)
	return f, nil
}

// policy is one way in which the root waits.
type policy struct {
	name string
	set  func(c *sim.Config)
}

// policies returns the policies of section 2.1 and of the runtime, and the barrier that they
// replace.
func policies() ([]policy, error) {
	barrier, err := schedule.New("barrier/dissemination", schedule.Params{Ranks: delayRanks, Degree: 2})
	return []policy{
		{name: "none", set: func(*sim.Config) {}},
		{name: "fixed, 5 transfers", set: func(c *sim.Config) { c.Delay.Fixed = 5 * odin.hop() }},
		{name: "adaptive", set: func(c *sim.Config) { c.Delay.Adaptive = true }},
		{name: "random peer", set: func(c *sim.Config) { c.Delay.Peer = true }},
		{name: "barrier before", set: func(c *sim.Config) { c.Before = barrier }},
	}, err
}

// delays000 tries all policies on a pattern with several spreads. heard is the percentage of ranks
// that get the multicast if the root waits for a random peer, at the widest spread.
func delays000(o Options, arrive pattern) (f *Figure, heard float64, err error) {
	xs := ofInts(0, 1, 2, 4, 6, 8, 10, 12, 16, 20)
	if o.Quick {
		xs = ofInts(0, 4, 20)
	}
	f = &Figure{
		X: Axis{Label: "spread of the arrivals", Unit: "transfers"}, Y: Axis{Label: "last return behind last entry", Unit: "transfers"},
		Notes: []string{"Among 24 ranks; what has not entered when the multicast arrives has lost it. The mean over operations of the time from when the last rank enters until the last returns. " +
			"The text compares the policies in words only. The adaptive one draws a peer for each operation, which tells whether it was too late, as in our runtime."},
	}
	all, err := policies()
	if err != nil {
		return nil, 0, err
	}
	for _, p := range all {
		s := Series{Name: p.name, Kind: Simulation}
		for _, x := range xs {
			behind, share, err := p.try(o, arrive(sim.Time(x)*odin.hop()))
			if err != nil {
				return nil, 0, err
			}
			s.Points = append(s.Points, Point{x, behind})
			if p.name == "random peer" {
				heard = 100 * share
			}
		}
		f.Series = append(f.Series, s)
	}
	return f, heard, nil
}

// try returns the mean over operations of the time from the last entry to the last return, in
// transfers, and the share of copies of the multicast that arrive.
func (p *policy) try(o Options, a sim.Arrival) (behind, heard float64, err error) {
	runs := 400
	if o.Quick {
		runs = 40
	}
	spec, err := schedule.New(mcast000, schedule.Params{Ranks: delayRanks})
	if err != nil {
		return 0, 0, err
	}
	c := sim.Config{Model: odin.model, Bytes: bytes000, Arrival: a, Unready: true}
	enters, err := sim.New(spec, c) // ranks enter when they arrive, whatever the policy
	if err != nil {
		return 0, 0, err
	}
	p.set(&c)
	s, err := sim.New(spec, c)
	if err != nil {
		return 0, 0, err
	}
	var late sim.Time
	var lost int64
	for i := range runs {
		seed := o.Seed + uint64(i)
		first, err := enters.Run(seed)
		if err != nil {
			return 0, 0, err
		}
		r, err := s.Run(seed)
		if err != nil {
			return 0, 0, err
		}
		if r.Makespan == sim.Never {
			return 0, 0, fmt.Errorf("simulate %s with policy %s: some rank never returns", mcast000, p.name)
		}
		late += r.Makespan - slices.Max(first.Enters)
		lost += r.Counts.Lost
	}
	all := float64(runs) * (delayRanks - 1)
	return float64(late) / float64(runs) / float64(odin.hop()), 1 - float64(lost)/all, nil
}
