package papers

import (
	"context"

	"github.com/schedgen/schedgen/schedule"
	"github.com/schedgen/schedgen/sim"
)

// penalties holds the penalty rounds of simulated operations among 116 ranks.
type penalties struct {
	runs  int
	most  int   // sum over operations of the largest number of rounds of a rank
	count []int // by number of rounds: how many ranks had so many
}

// penaltiesAt simulates the two stages with a loss of epsilon.
func penaltiesAt(epsilon float64, o Options) (*penalties, error) {
	c := odin.config()
	c.Loss = epsilon
	all := &penalties{runs: 1000, count: make([]int, ranks116)}
	if o.Quick {
		all.runs = 40
	}
	err := repeat(mcast000, schedule.Params{Ranks: ranks116}, c, o.Seed, all.runs, func(_ int, r *sim.Result) {
		most := 0
		for _, at := range r.Returns[1:] {
			k := odin.rounds(at)
			all.count[k]++
			most = max(most, k)
		}
		all.most += most
	})
	return all, err
}

// rounds returns the number of penalty rounds of a rank that returns at a time. Each round is a
// hop, and all other differences between ranks are much smaller.
func (c *cluster) rounds(at sim.Time) int {
	return max(0, int((at-c.prepare-c.hop())/c.hop()))
}

// mean returns the mean over ranks and operations.
func (p *penalties) mean() float64 {
	sum := 0
	for k, n := range p.count {
		sum += k * n
	}
	return float64(sum) / float64(p.runs*(ranks116-1))
}

func penalty000(_ context.Context, o Options) (*Figure, error) {
	xs := []float64{0, 0.05, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9}
	if o.Quick {
		xs = []float64{0, 0.2, 0.5}
	}
	simulated := []Series{{Name: "mean of all ranks", Kind: Simulation}, {Name: "rank that has most", Kind: Simulation}}
	half := None
	for _, x := range xs {
		p, err := penaltiesAt(x, o)
		if err != nil {
			return nil, err
		}
		if x == 0.5 {
			half = p.mean()
		}
		simulated[0].Points = append(simulated[0].Points, Point{x, p.mean()})
		simulated[1].Points = append(simulated[1].Points, Point{x, float64(p.most) / float64(p.runs)})
	}
	return &Figure{
		X: Axis{Label: "probability of a loss"}, Y: Axis{Label: "penalty rounds"},
		Series: append([]Series{
			curve("mean of all ranks", Paper, []float64{0.5}, func(float64) float64 { return 1 }),
			curve("mean of all ranks", Model, xs, func(x float64) float64 { return PenaltyMeanOf(x, ranks116) }),
			curve("rank that has most", Model, xs, func(x float64) float64 { return WorstPenaltyMean(x, ranks116-1) }),
		}, simulated...),
		Claims: []Claim{{"§2.2", "mean penalty rounds at a loss of 50 %", "", 1, PenaltyMeanOf(0.5, ranks116), half}},
		Notes: []string{"A rank's penalty rounds are the losses in a row up to it. Their mean is ε/(1-ε) far from the root and less near it, where a run of losses ends at the root. " +
			"A broadcast is over when the rank that has most returns, which the mean does not tell."},
	}, nil
}

func penaltyTail000(_ context.Context, o Options) (*Figure, error) {
	const epsilon = 0.5
	p, err := penaltiesAt(epsilon, o)
	if err != nil {
		return nil, err
	}
	xs := floats(0, 12)
	least := 1 / float64(p.runs*(ranks116-1)) // the smallest value on a logarithmic scale
	return &Figure{
		X: Axis{Label: "penalty rounds k", Whole: true}, Y: Axis{Label: "share of ranks with k or more", Log: true},
		Series: []Series{
			curve("share", Model, xs, func(x float64) float64 { return tailOf(epsilon, ranks116, int(x)) }),
			curve("share", Simulation, xs, func(x float64) float64 {
				n := 0
				for _, c := range p.count[int(x):] {
					n += c
				}
				if n == 0 {
					return None
				}
				return float64(n) * least
			}),
		},
		Notes: []string{"The paper: the chance that k ranks fail in a row is ε^k. Ours is that for the ranks that have k others before them, of all."},
	}, nil
}

// tailOf returns the share of the ranks 1 … p-1 that have k penalty rounds or more. Only ranks that
// are k or more behind the root can.
func tailOf(epsilon float64, p, k int) float64 {
	return PenaltyTail(epsilon, k) * float64(p-max(k, 1)) / float64(p-1)
}

// worst000 returns the worst case of section 2.2, with the chain and with a tree as the second
// stage.
func worst000(_ context.Context, o Options) (*Figure, error) {
	xs := floats(2, ranks116)
	if o.Quick {
		xs = ofInts(2, 3, 23)
	}
	c := odin.config()
	c.Loss = 1
	const chained, treed = "two stages, all lost", "with a tree, all lost"
	simulated := func(series, algorithm string) (Series, error) {
		return curveOf(series, Simulation, xs, func(x float64) (float64, error) {
			r, err := simulate(algorithm, schedule.Params{Ranks: int(x)}, c)
			if err != nil {
				return 0, err
			}
			return micros(r.Makespan), nil
		})
	}
	chain, err := simulated(chained, mcast000)
	if err != nil {
		return nil, err
	}
	tree, err := simulated(treed, treed000)
	if err != nil {
		return nil, err
	}
	return &Figure{
		X: sizeAxis, Y: latencyAxis,
		Series: []Series{
			curve(chained, Model, xs, func(x float64) float64 { return micros(odin.worstReturn(int(x))) }), chain,
			curve(treed, Model, xs, func(x float64) float64 { return micros(odin.treedWorstReturn(int(x))) }), tree,
			curve("two stages, none lost", Model, xs, func(x float64) float64 {
				return micros(last(int(x), func(r int) sim.Time { return odin.stagesReturn(int(x), r) }))
			}),
			curve("binomial tree", Model, xs, func(x float64) float64 {
				return micros(last(int(x), func(r int) sim.Time { return odin.treeReturn(int(x), r) }))
			}),
		},
		Notes: []string{
			"The paper: if all ranks lose the multicast the time is linear in their number, and a tree as the second stage could help. " +
				"Ours: a transfer for each rank behind the root; with a binomial tree (" + treed000 + ") one for each doubling of the ranks, behind the multicast that was in vain.",
			fitted000,
		},
	}, nil
}

// secondStage000 compares the tree of section 2.2 with the chain as the second stage.
func secondStage000(_ context.Context, o Options) (*Figure, error) {
	xs := []float64{0, 0.05, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 0.95, 1}
	runs := 1000
	if o.Quick {
		xs, runs = []float64{0, 0.5, 1}, 40
	}
	f := &Figure{
		X: Axis{Label: "probability of a loss"}, Y: Axis{Label: latencyAxis.Label, Unit: latencyAxis.Unit, Log: true},
		Notes: []string{
			"The paper: a tree as the second stage could reduce the time of the worst case, but a rank then serves several others. Ours: the more ranks lose the multicast, " +
				"the longer are the runs in the chain that have all lost it, while the tree is never deeper than 7 puts. Where nothing is lost the tree's root is the last to return: " +
				"it puts to 7 ranks. The mean rank returns as early with either. Chosen: the root takes the tree if it has heard of many losses (DelayAdaptive).",
			fitted000,
		},
	}
	for _, of := range []struct{ name, algorithm string }{{"chain", mcast000}, {"tree", treed000}} {
		slowest, mean := Series{Name: of.name + ", last rank", Kind: Simulation}, Series{Name: of.name + ", mean rank", Kind: Simulation}
		for _, x := range xs {
			c := odin.config()
			c.Loss = x
			var most, sum sim.Time
			err := repeat(of.algorithm, schedule.Params{Ranks: ranks116}, c, o.Seed, runs, func(_ int, r *sim.Result) {
				most += r.Makespan
				for _, at := range r.Returns {
					sum += at
				}
			})
			if err != nil {
				return nil, err
			}
			slowest.Points = append(slowest.Points, Point{x, micros(most) / float64(runs)})
			mean.Points = append(mean.Points, Point{x, micros(sum) / float64(runs*ranks116)})
		}
		f.Series = append(f.Series, slowest, mean)
	}
	chosen, err := curveOf("chosen, last rank", Simulation, xs, func(x float64) (float64, error) {
		c := odin.config()
		c.Loss, c.Delay.Adaptive = x, true
		return mean000(mcast000, ranks116, c, o.Seed, runs)
	})
	f.Series = append(f.Series, chosen)
	return f, err
}
