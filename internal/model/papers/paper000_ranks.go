package papers

import (
	"context"
	"math"
	"slices"

	"github.com/schedgen/schedgen/sim"
)

// ranks000 returns figure 5: when each of 116 ranks returns.
func ranks000(_ context.Context, _ Options) (*Figure, error) {
	xs := floats(0, ranks116-1)
	f := &Figure{X: Axis{Label: "rank", Whole: true}, Y: latencyAxis, Notes: []string{
		"The skew is how much earlier rank 1 returns than the last rank: of the paper rank 98, of ours rank 95, which is six transfers from the root, and rank 98 three.",
		"The deviation is the largest from the median, over ranks that receive. Without noise all get the multicast at the same time, and only the last has no successor to send to.",
		fitted000,
	}}
	tree := func(r int) sim.Time { return odin.treeReturn(ranks116, r) }
	stages := func(r int) sim.Time { return odin.stagesReturn(ranks116, r) }
	f.Series = []Series{
		curve("binomial tree", Model, xs, func(x float64) float64 { return micros(tree(int(x))) }),
		curve("two stages", Model, xs, func(x float64) float64 { return micros(stages(int(x))) }),
	}
	for _, a := range []struct{ label, name string }{{"binomial tree", tree000}, {"two stages", mcast000}} {
		out, err := simulated000(a.name, ranks116)
		if err != nil {
			return nil, err
		}
		f.Series = append(f.Series, curve(a.label, Simulation, xs, func(x float64) float64 { return micros(out.Returns[int(x)]) }))
	}
	s := f.Series
	f.Claims = []Claim{
		{"§4.3, fig. 5", "tree: rank 1 earlier than the last (fitted)", "%", 79.4, skew(&s[0]), skew(&s[2])},
		{"§4.3, fig. 5", "two stages: deviation from the median", "%", 14, deviation(&s[1]), deviation(&s[3])},
	}
	return f, nil
}

// skew returns by how many percent rank 1 is earlier than the last rank.
func skew(s *Series) float64 { return 100 * (1 - s.y(1)/maxY(s.Points)) }

// deviation returns the largest deviation from the median of all ranks but the root, in percent.
func deviation(s *Series) float64 {
	var ys []float64
	for _, p := range s.Points[1:] {
		ys = append(ys, p.Y)
	}
	slices.Sort(ys)
	median := ys[len(ys)/2]
	return 100 * math.Max(median-ys[0], ys[len(ys)-1]-median) / median
}
