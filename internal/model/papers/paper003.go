package papers

import (
	"context"
	"fmt"
	"slices"

	"github.com/schedgen/schedgen/schedule"
	"github.com/schedgen/schedgen/sim"
)

// figures003 returns the figures of paper 003, barriers by flags.
func figures003() []Entry {
	return []Entry{
		{"003/6", "n-ary dissemination for some n against nodes", exchange003},
		{"003/7", "barriers against nodes", barriers003},
		{"003/f", "hsb for some f against nodes", hsb003},
		{"003/crossing", "n = N against n = 6", crossing003},
		{"003/fan", "hsb with different fan-in and fan-out, 16 nodes", fan003},
		{"003/fan-64", "hsb with different fan-in and fan-out, 64 nodes", fanOf64},
		{"003/local", "two processes on each node", local003},
	}
}

const (
	disseminationName = "barrier/dissemination"
	hsbName           = "barrier/hsb"
)

// sci003 is the cluster of paper 003. A remote write stalls the CPU for 200 ns, and the store
// barrier and the fast sequence check take less than 4 µs (section 4). The time to read a flag is
// fitted: n = N and n = 6 cross at 20 nodes (section 4.3) if it is 164 ns, that is, if writing and
// reading a flag take an eleventh of a check.
var sci003 = SCI{Write: 200, Check: 4000, Read: 164}

// machine003 is the same for the simulator, where a send and a receive take a CPU equally long, and
// a written flag is there at once.
var machine003 = sim.LogGP{O: 182, Check: 4000}

const fitted003 = "A remote write takes 200 ns and a sequence check 4 µs, as the paper says. Reading a flag is fitted to the crossing at 20 nodes: 164 ns. " +
	"In the simulation writing and reading take 182 ns each."

var (
	nodeAxis    = Axis{Label: "nodes", Whole: true}
	barrierAxis = Axis{Label: "barrier", Unit: "µs"}
)

func nodes003(o Options, most int) []float64 {
	if o.Quick {
		return ofInts(2, 3, 9, 16, 20, 21)
	}
	return floats(2, most)
}

// barrier003 returns the simulated time of a barrier in µs.
func barrier003(name string, p schedule.Params) (float64, error) {
	r, err := simulate(name, p, sim.Config{Model: machine003})
	if err != nil {
		return 0, err
	}
	return micros(r.Makespan), nil
}

// disseminations003 adds the curves of the dissemination for some n. 0 stands for N.
func (f *Figure) disseminations003(xs []float64, degrees ...int) error {
	for _, n := range degrees {
		name, degree := fmt.Sprintf("n = %d", n), func(int) int { return n }
		if n == 0 {
			name, degree = "n = N", func(p int) int { return p }
		}
		f.Series = append(f.Series, curve(name, Model, xs, func(x float64) float64 { return sci003.Dissemination(int(x), degree(int(x))) / 1e3 }))
		s, err := curveOf(name, Simulation, xs, func(x float64) (float64, error) {
			return barrier003(disseminationName, schedule.Params{Ranks: int(x), Degree: degree(int(x))})
		})
		if err != nil {
			return err
		}
		f.Series = append(f.Series, s)
	}
	return nil
}

// hsbs003 adds the curves of hsb for some f = fan-in = fan-out. 0 stands for N-1.
func (f *Figure) hsbs003(xs []float64, fans ...int) error {
	for _, fan := range fans {
		name, of := fmt.Sprintf("hsb, f = %d", fan), func(int) int { return fan }
		if fan == 0 {
			name, of = "hsb, f = N-1", func(p int) int { return p - 1 }
		}
		f.Series = append(f.Series, curve(name, Model, xs, func(x float64) float64 { return sci003.HSB(int(x), of(int(x)), of(int(x))) / 1e3 }))
		s, err := curveOf(name, Simulation, xs, func(x float64) (float64, error) {
			return barrier003(hsbName, schedule.Params{Ranks: int(x), FanIn: of(int(x)), FanOut: of(int(x))})
		})
		if err != nil {
			return err
		}
		f.Series = append(f.Series, s)
	}
	return nil
}

// hsb003 returns the sweep of f that section 4.3 mentions.
func hsb003(_ context.Context, o Options) (*Figure, error) {
	f := &Figure{X: nodeAxis, Y: barrierAxis, Notes: []string{
		"The paper: all algorithms were analysed like figure 6; up to 16 nodes f = N-1 is taken, and above a much lower one, such as 6, which is extrapolated. Ours: f = N-1 and f = 6 cross at 19 or 20 nodes.", fitted003}}
	return f, f.hsbs003(nodes003(o, 40), 2, 4, 6, 8, 0)
}

// exchange003 returns figure 6, continued beyond the 16 nodes of the paper.
func exchange003(ctx context.Context, o Options) (*Figure, error) {
	f := &Figure{X: nodeAxis, Y: barrierAxis, Notes: []string{
		"The paper: each step more is an abrupt increase, within a number of steps there is a slight one; up to 16 nodes n = N is best; above, n = 2 and n = 16 need a further step, and n = 6 none up to 36. " +
			"So do ours. In the paper n must not be greater than N; ours sets no flag twice, so n = 16 is n = N below 16 nodes.", fitted003}}
	if err := f.disseminations003(nodes003(o, 40), 2, 6, 16, 0); err != nil {
		return nil, err
	}
	return f, f.addMeasured(ctx, o, ofInts(2, 3, 5, 8),
		realCurve{"n = N", Job{Operation: "barrier", Algorithm: disseminationName}},
		realCurve{"n = 2", Job{Operation: "barrier", Algorithm: disseminationName, Params: schedule.Params{Degree: 2}}})
}

// crossing003 returns the crossing of section 4.3, with the costs in the paper alone and with the
// reading of flags.
func crossing003(_ context.Context, o Options) (*Figure, error) {
	f := &Figure{X: nodeAxis, Y: barrierAxis, Notes: []string{
		"The paper extrapolates that n = N and n = 6 cross at about 20 nodes. With the write and the check that it tells, and reading that costs nothing, they would cross at 32; so there is a further cost of each flag. Up to 36 nodes n = 6 needs two steps.", fitted003}}
	xs := nodes003(o, 36)
	if err := f.disseminations003(xs, 6, 0); err != nil {
		return nil, err
	}
	told := sci003
	told.Read = 0
	f.Series = append(f.Series,
		curve("n = 6, reading free", Model, xs, func(x float64) float64 { return told.Dissemination(int(x), 6) / 1e3 }),
		curve("n = N, reading free", Model, xs, func(x float64) float64 { return told.Dissemination(int(x), int(x)) / 1e3 }))
	free := None
	if !o.Quick {
		free = firstAbove(&f.Series[5], &f.Series[4])
	}
	f.Claims = []Claim{
		{"§4.3, fig. 6", "nodes from which n = 6 is faster (fitted)", "", 20, firstAbove(&f.Series[2], &f.Series[0]), firstAbove(&f.Series[3], &f.Series[1])},
		{"§4.3, fig. 6", "the same, with the costs that the paper tells alone", "", 20, free, None},
	}
	return f, nil
}

// barriers003 returns figure 7.
func barriers003(ctx context.Context, o Options) (*Figure, error) {
	xs := floats(2, 16)
	if o.Quick {
		xs = ofInts(2, 3, 9, 10, 16)
	}
	f := &Figure{X: nodeAxis, Y: barrierAxis, Notes: []string{
		"The paper: the n-ary exchange is the fastest for any number of nodes; hsb with f = N-1 is faster than with SCI-MPICH's f = 8 above 9 nodes, where that needs a second step. So are ours. " +
			"The NMPI barrier took more than 15 µs on 3 nodes and about 37 µs on 16: two and four rounds of messages.", fitted003}}
	f.Series = []Series{{Name: "NMPI", Kind: Paper, Points: []Point{{3, 15}, {16, 37}}}}
	if err := f.disseminations003(xs, 0); err != nil {
		return nil, err
	}
	if err := f.hsbs003(xs, 0, 8); err != nil {
		return nil, err
	}
	f.Claims = []Claim{{"§4.3, fig. 7", "nodes from which f = N-1 is faster than f = 8", "", 10, firstAbove(&f.Series[5], &f.Series[3]), firstAbove(&f.Series[6], &f.Series[4])}}
	return f, f.addMeasured(ctx, o, ofInts(2, 3, 5, 8),
		realCurve{"n = N", Job{Operation: "barrier", Algorithm: disseminationName}},
		realCurve{"hsb, f = N-1", Job{Operation: "barrier", Algorithm: hsbName}})
}

func fan003(_ context.Context, o Options) (*Figure, error) { return fans003(o, 16) }

func fanOf64(_ context.Context, o Options) (*Figure, error) { return fans003(o, 64) }

// fans003 sweeps fan-in and fan-out. The paper's experiments showed no advantage of different
// values (section 4.2).
func fans003(o Options, p int) (*Figure, error) {
	f := &Figure{X: Axis{Label: "fan-out", Log: true, Whole: true}, Y: barrierAxis}
	f.Y.Cut = true
	fans := []int{1, 2, 3, 4, 6, 8, 12, 15, 24, 32, 63}
	if o.Quick {
		fans = []int{2, 8, 15}
	}
	for len(fans) > 1 && fans[len(fans)-1] >= p {
		fans = fans[:len(fans)-1]
	}
	equal := Series{Name: "fan-in = fan-out", Kind: Simulation}
	// of all and of equal fans, by model and simulation
	best := [2][2]float64{{None, None}, {None, None}}
	less := func(to *float64, v float64) {
		if !(*to <= v) {
			*to = v
		}
	}
	outs := every(o, ofInts(fans...))
	both := func(in, out int) (Point, Point, error) {
		t, err := barrier003(hsbName, schedule.Params{Ranks: p, FanIn: in, FanOut: out})
		return Point{float64(out), sci003.HSB(p, in, out) / 1e3}, Point{float64(out), t}, err
	}
	for _, out := range outs {
		m, t, err := both(int(out), int(out))
		if err != nil {
			return nil, err
		}
		equal.Points = append(equal.Points, t)
		less(&best[1][0], m.Y)
		less(&best[1][1], t.Y)
	}
	for _, in := range fans {
		model, simulated := Series{Name: fmt.Sprintf("fan-in %d", in), Kind: Model}, Series{Name: fmt.Sprintf("fan-in %d", in), Kind: Simulation}
		for _, out := range outs {
			m, t, err := both(in, int(out))
			if err != nil {
				return nil, err
			}
			model.Points, simulated.Points = append(model.Points, m), append(simulated.Points, t)
			less(&best[0][0], m.Y)
			less(&best[0][1], t.Y)
		}
		if slices.Contains([]int{2, 4, 8, p - 1}, in) { // the other curves lie between these
			f.Series = append(f.Series, model, simulated)
		}
	}
	f.Series = append(f.Series, equal)
	gain := func(i int) float64 { return 100 * (1 - best[0][i]/best[1][i]) }
	f.Claims = []Claim{{"§4.2", fmt.Sprintf("gain of the best pair over the best equal one, %d nodes", p), "%", 0, gain(0), gain(1)}}
	f.Notes = []string{"The paper: experiments did not yet show any advantage of fan-in different from fan-out. The line through equal fans is what a sweep of f sees; some fan-ins lie below it, at the largest fan-out. Of the fan-ins that were tried four are drawn.", fitted003}
	return f, nil
}

// local003 returns the synchronisation of two processes on each node (section 4.3, last paragraph).
func local003(_ context.Context, o Options) (*Figure, error) {
	xs := floats(2, 16)
	if o.Quick {
		xs = ofInts(2, 9, 16)
	}
	near := &sim.LogGP{O: 75, L: 100} // a signal takes 250 ns
	f := &Figure{X: nodeAxis, Y: barrierAxis, Notes: []string{
		"The paper: two processes on each node take 0.5 µs more, independent of the number of nodes. A signal within a node is fitted to that: 250 ns, and there are two, in and out."}}
	one, err := curveOf("one process a node", Simulation, xs, func(x float64) (float64, error) {
		return barrier003(disseminationName, schedule.Params{Ranks: int(x), Degree: int(x)})
	})
	if err != nil {
		return nil, err
	}
	model := machine003
	model.Near = near
	two, err := curveOf("two processes a node", Simulation, xs, func(x float64) (float64, error) {
		r, err := simulate(disseminationName, schedule.Params{Ranks: 2 * int(x), Hosts: int(x), Degree: int(x)}, sim.Config{Model: model, Hosts: int(x)})
		if err != nil {
			return 0, err
		}
		return micros(r.Makespan), nil
	})
	if err != nil {
		return nil, err
	}
	f.Series = []Series{one, two}
	least, most := None, None
	for i := range xs {
		d := two.Points[i].Y - one.Points[i].Y
		if !(least <= d) {
			least = d
		}
		if !(most >= d) {
			most = d
		}
	}
	f.Claims = []Claim{
		{"§4.3", "added by the second process, at least (fitted)", "µs", 0.5, None, least},
		{"§4.3", "and at most", "µs", 0.5, None, most},
	}
	return f, nil
}
