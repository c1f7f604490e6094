package papers

import (
	"context"
	"fmt"

	"github.com/schedgen/schedgen/schedule"
	"github.com/schedgen/schedgen/sim"
)

// sizes000 returns the communicator sizes of figures 4, 6 and 7.
func sizes000(o Options) []float64 {
	if o.Quick {
		return ofInts(2, 5, 16, 17, 23, 116)
	}
	return floats(2, ranks116)
}

// simulated000 simulates a broadcast among p ranks of odin without losses.
func simulated000(name string, p int) (*sim.Result, error) {
	c := odin.config()
	if name == tree000 {
		c.Delay.Fixed = 0
	}
	return simulate(name, schedule.Params{Ranks: p}, c)
}

// returns000 returns the curves of both algorithms, by model and simulation. pick computes the
// value of the figure from the times when ranks return.
func returns000(o Options, pick func(p int, of func(r int) sim.Time) sim.Time) ([]Series, error) {
	xs := sizes000(o)
	all := []Series{
		curve("binomial tree", Model, xs, func(x float64) float64 {
			return micros(pick(int(x), func(r int) sim.Time { return odin.treeReturn(int(x), r) }))
		}),
		curve("two stages", Model, xs, func(x float64) float64 {
			return micros(pick(int(x), func(r int) sim.Time { return odin.stagesReturn(int(x), r) }))
		}),
	}
	for _, a := range []struct{ label, name string }{{"binomial tree", tree000}, {"two stages", mcast000}} {
		s, err := curveOf(a.label, Simulation, xs, func(x float64) (float64, error) {
			out, err := simulated000(a.name, int(x))
			if err != nil {
				return 0, err
			}
			return micros(pick(int(x), func(r int) sim.Time { return out.Returns[r] })), nil
		})
		if err != nil {
			return nil, err
		}
		all = append(all, s)
	}
	return all, nil
}

var (
	sizeAxis    = Axis{Label: "ranks", Whole: true}
	latencyAxis = Axis{Label: "latency", Unit: "µs"}
)

// latency000 returns figure 4: the time until the last rank returns.
func latency000(ctx context.Context, o Options) (*Figure, error) {
	all, err := returns000(o, last)
	if err != nil {
		return nil, err
	}
	f := &Figure{X: sizeAxis, Y: latencyAxis, Series: all, Notes: []string{
		"The paper: the two stages take a constant time. So they do where nothing is lost. With losses the longest run of ranks in the chain that have lost the multicast grows with the logarithm of the ranks. " +
			"Chosen: the root takes a tree as the second stage if it has heard of many losses, as under DelayAdaptive; the mean over operations after the first 64.", fitted000}}
	for _, loss := range []float64{0.1, 0.5} {
		lossy, err := lossy000(o, loss)
		if err != nil {
			return nil, err
		}
		f.Series = append(f.Series, lossy...)
	}
	saved := func(tree, stages *Series) float64 { return 100 * (1 - stages.y(ranks116)/tree.y(ranks116)) }
	slower := func(tree, stages *Series) float64 { return firstAbove(tree, stages) }
	const stated = 20 // processes from which the tree is slower (section 4.3)
	mark := Series{Name: "tree slower from 20 on", Kind: Paper, Points: []Point{{stated, micros(last(stated, func(r int) sim.Time { return odin.stagesReturn(stated, r) }))}}}
	f.Series = append(f.Series, mark)
	f.Claims = []Claim{
		{"abstract", "saved by the two stages, 116 ranks (fitted)", "%", saved000, saved(&all[0], &all[1]), saved(&all[2], &all[3])},
		{"§4.3, fig. 4", "ranks from which the tree is slower", "", stated, slower(&all[0], &all[1]), slower(&all[2], &all[3])},
	}
	return f, f.addMeasured(ctx, o, ofInts(2, 3, 4, 5, 6, 7, 8),
		realCurve{"binomial tree", Job{Operation: "bcast", Algorithm: tree000, Bytes: bytes000}},
		realCurve{"two stages", Job{Operation: "bcast", Algorithm: mcast000, Bytes: bytes000}})
}

// lossy000 returns the curves of figure 4 of the second stages if each rank loses the multicast with
// a probability.
func lossy000(o Options, loss float64) (all []Series, err error) {
	xs, runs := ofInts(2, 4, 8, 16, 23, 32, 48, 64, 90, ranks116), 600
	if o.Quick {
		xs, runs = ofInts(2, 23, ranks116), 100
	}
	for _, of := range []struct {
		name, algorithm string
		adaptive        bool
	}{{"chain", mcast000, false}, {"tree", treed000, false}, {"chosen", mcast000, true}} {
		s, err := curveOf(fmt.Sprintf("%s, %.0f %% lost", of.name, 100*loss), Simulation, xs, func(x float64) (float64, error) {
			c := odin.config()
			c.Loss, c.Delay.Adaptive = loss, of.adaptive
			return mean000(of.algorithm, int(x), c, o.Seed, runs)
		})
		if err != nil {
			return nil, err
		}
		all = append(all, s)
	}
	return all, nil
}

// mean000 returns the mean time in µs until the last of p ranks returns, over operations after the
// first 64, in which an adaptive root learns.
func mean000(algorithm string, p int, c sim.Config, seed uint64, runs int) (float64, error) {
	const learns = 64
	var sum sim.Time
	err := repeat(algorithm, schedule.Params{Ranks: p}, c, seed, learns+runs, func(i int, r *sim.Result) {
		if i >= learns {
			sum += r.Makespan
		}
	})
	return micros(sum) / float64(runs), err
}

// firstAbove returns the first X from which on a is above b, or None.
func firstAbove(a, b *Series) float64 {
	first := None
	for i := len(a.Points) - 1; i >= 0 && a.Points[i].Y > b.Points[i].Y; i-- {
		first = a.Points[i].X
	}
	return first
}

// firstRank000 returns figure 6.
func firstRank000(_ context.Context, o Options) (*Figure, error) {
	all, err := returns000(o, func(_ int, of func(r int) sim.Time) sim.Time { return of(1) })
	if err != nil {
		return nil, err
	}
	return &Figure{X: sizeAxis, Y: latencyAxis, Series: all, Notes: []string{
		"The paper: in the tree rank 1 leaves after one message, much earlier than with the two stages, and both are constant. " +
			"Ours: the tree's rank 1 has a send more for every doubling of the ranks, which costs 4 % of a transfer.", fitted000,
	}}, nil
}

// lastRank000 returns figure 7.
func lastRank000(_ context.Context, o Options) (*Figure, error) {
	all, err := returns000(o, func(p int, of func(r int) sim.Time) sim.Time { return of(p - 1) })
	if err != nil {
		return nil, err
	}
	return &Figure{X: sizeAxis, Y: latencyAxis, Series: all, Notes: []string{
		"The paper: with the tree the last rank's latency steadily increases, with the two stages it does not. Ours: with the tree it is a transfer for each bit " +
			"that is set in the rank's number, so that it rises and falls within a doubling, and among 65 ranks the last returns as early as rank 64, a child of the root.", fitted000,
	}}, nil
}

// threshold000 returns the threshold of section 4.3 as a function of the cost of the two stages
// beyond a transfer.
func threshold000(_ context.Context, _ Options) (*Figure, error) {
	hop := float64(odin.hop())
	var xs []float64
	for tenths := 10; tenths <= 65; tenths++ {
		xs = append(xs, float64(tenths)/10)
	}
	size := func(of func(p int) float64) func(float64) float64 {
		return func(x float64) float64 {
			for p := 2; p <= 128; p++ {
				if of(p) > x*hop {
					return float64(p)
				}
			}
			return None
		}
	}
	slowest := size(func(p int) float64 {
		return float64(last(p, func(r int) sim.Time { return odin.treeReturn(p, r) }))
	})
	own := float64(last(ranks116, func(r int) sim.Time { return odin.stagesReturn(ranks116, r) })) / hop
	return &Figure{
		X: Axis{Label: "time of the two stages", Unit: "transfers"}, Y: Axis{Label: "ranks from which the tree is slower", Log: true},
		Series: []Series{
			curve("slowest rank", Model, xs, slowest),
			curve("stated", Paper, []float64{own}, func(float64) float64 { return 20 }),
		},
		Claims: []Claim{{"§4.3", "ranks from which the tree is slower", "", 20, slowest(own), None}},
		Notes: []string{
			"The tree's slowest rank is a transfer later with each doubling, so thresholds are powers of two, or the size by half larger where a further send tips it. " +
				"A cost of 3.1 to 4 transfers gives 16, one of 4.1 to 5 gives 32: the 20 that the paper states lies between, as the mean of a time with some spread would. It stands at the cost that saves 41 %.", fitted000,
		},
	}, nil
}
