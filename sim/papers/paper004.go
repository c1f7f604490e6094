package papers

import (
	"context"
	"fmt"

	"github.com/schedgen/schedgen/schedule"
	"github.com/schedgen/schedgen/sim"
)

// figures004 are those of paper 004, the symmetric broadcast.
func figures004() []Entry {
	return []Entry{
		{"004/2-tree", "time of the tree against destinations, 2 B to 512 KiB", tree004},
		{"004/2-symmetric", "time of the symmetric broadcast against destinations, 2 B to 512 KiB", symmetric004},
		{"004/2-both", "tree and symmetric broadcast in one picture", both004},
		{"004/twice", "how much faster the symmetric broadcast is, against destinations", twice004},
		{"004/crossing", "how much faster the symmetric broadcast is, against size", crossing004},
		{"004/switch", "the symmetric broadcast of 512 KiB if the switch saturates", switch004},
		{"004/equations", "equations (2) and (5) against the simulated linear model", equations004},
	}
}

const (
	treeName      = "bcast/binomial" // as MPICH sends
	symmetricName = "bcast/symmetric"
	linearName    = "bcast/linear"
	most004       = 14 // destinations of the largest run (section 4)
)

// ethernet004 is the testbed of paper 004: links of 100 Mbit/s carry a byte in
// 80 ns and the least frame, of 84 bytes with its gaps, in 6.72 µs. The text gives
// neither the latency nor what a message takes a CPU: a transfer of no bytes is
// taken to be 150 µs, and the overhead is fitted to the crossing near 2 KiB among
// 15 nodes.
var ethernet004 = sim.LogGP{L: 150_000 - 2*overhead004, O: overhead004, Gap: 6720, GPerByte: 80_000}

const overhead004 = 22_000

// linear004 is the same in the paper's own model.
var linear004 = Linear{T0: 150_000, Td: 80}

const fitted004 = "Links of 100 Mbit/s carry a byte in 80 ns. A transfer of no bytes is taken to be 150 µs, and what a message takes a CPU is fitted to the crossing near 2 KiB: 22 µs a send and " +
	"a receive. The model is the paper's equations, which have no such overhead; the simulation is LogGP."

func sizes004(o Options) []int {
	if o.Quick {
		return []int{2, 2 << 10, 512 << 10}
	}
	return []int{2, 512, 2 << 10, 8 << 10, 64 << 10, 512 << 10}
}

func destinations004(o Options) []float64 {
	if o.Quick {
		return ofInts(1, 2, 8, 9, 14)
	}
	return floats(1, most004)
}

// bytesName spells a size.
func bytesName(n int) string {
	if n >= 1<<10 && n%(1<<10) == 0 {
		return fmt.Sprintf("%d KiB", n>>10)
	}
	return fmt.Sprintf("%d B", n)
}

var (
	destinationAxis = Axis{Label: "destinations"}
	timeAxis004     = Axis{Label: "time", Unit: "ms", Log: true}
)

// simulated004 returns the time of a broadcast of n bytes to p destinations, in ms.
func simulated004(name string, p, n int) (float64, error) {
	r, err := simulate(name, schedule.Params{Ranks: p + 1}, sim.Config{Model: ethernet004, Bytes: n})
	if err != nil {
		return 0, err
	}
	return micros(r.Makespan) / 1e3, nil
}

// bySize004 adds a curve of the model and one of the simulation for each size.
func (f *Figure) bySize004(o Options, label, name string, model func(n, p int) float64, sizes []int) error {
	xs := destinations004(o)
	for _, n := range sizes {
		of := label + bytesName(n)
		f.Series = append(f.Series, curve(of, Model, xs, func(x float64) float64 { return model(n, int(x)) / 1e6 }))
		s, err := curveOf(of, Simulation, xs, func(x float64) (float64, error) { return simulated004(name, int(x), n) })
		if err != nil {
			return err
		}
		f.Series = append(f.Series, s)
	}
	return nil
}

func tree004(_ context.Context, o Options) (*Figure, error) {
	f := &Figure{X: destinationAxis, Y: timeAxis004, Notes: []string{
		"The paper: the time grows with the logarithm of the nodes. The model is ⌈log2 (p+1)⌉ transfers one after the other.", fitted004}}
	return f, f.bySize004(o, "", treeName, linear004.Tree, sizes004(o))
}

func symmetric004(_ context.Context, o Options) (*Figure, error) {
	f := &Figure{X: destinationAxis, Y: timeAxis004, Notes: []string{
		"The paper: constant for a large domain of sizes, growing with the nodes for small messages, for what p² fragments cost, and for large ones, for the switch. " +
			"Ours grows for small messages likewise; the switch carries all, see 004/switch.", fitted004}}
	return f, f.bySize004(o, "", symmetricName, linear004.Symmetric, sizes004(o))
}

func both004(ctx context.Context, o Options) (*Figure, error) {
	f := &Figure{X: destinationAxis, Y: timeAxis004, Notes: []string{
		"The paper: equal for one destination. Runs, where there are any, are over this machine's own transport and include the replies of all ranks.", fitted004}}
	sizes := []int{2 << 10, 512 << 10}
	if err := f.bySize004(o, "tree, ", treeName, linear004.Tree, sizes); err != nil {
		return nil, err
	}
	if err := f.bySize004(o, "symmetric, ", symmetricName, linear004.Symmetric, sizes); err != nil {
		return nil, err
	}
	return f, f.runScaled(ctx, o, ofInts(1, 2, 4, 7), 1, 1000, replies004("tree, ", treeName, 512<<10), replies004("symmetric, ", symmetricName, 512<<10))
}

// ratio004 returns how many times as long as the symmetric broadcast the tree takes.
func ratio004(p, n int) (float64, error) {
	tree, err := simulated004(treeName, p, n)
	if err != nil {
		return 0, err
	}
	symmetric, err := simulated004(symmetricName, p, n)
	return tree / symmetric, err
}

func modelRatio004(p, n int) float64 { return linear004.Tree(n, p) / linear004.Symmetric(n, p) }

var ratioAxis = Axis{Label: "tree / symmetric"}

func twice004(_ context.Context, o Options) (*Figure, error) {
	f := &Figure{X: destinationAxis, Y: ratioAxis, Notes: []string{
		"The paper: broadcasting to more than 9 nodes the symmetric broadcast is twice as fast. Equations: (2-1/p) against ⌈log2 (p+1)⌉ copies of a long message, which is above two from 8 destinations on, " +
			"where the tree needs its fourth round. In the simulation fragments of several senders wait for each other at a receiver, so that it is a little less than twice for most numbers from 10 on.", fitted004}}
	xs := destinations004(o)
	for _, n := range []int{8 << 10, 64 << 10, 512 << 10} {
		f.Series = append(f.Series, curve(bytesName(n), Model, xs, func(x float64) float64 { return modelRatio004(int(x), n) }))
		s, err := curveOf(bytesName(n), Simulation, xs, func(x float64) (float64, error) { return ratio004(int(x), n) })
		if err != nil {
			return nil, err
		}
		f.Series = append(f.Series, s)
	}
	two := &Series{Points: []Point{}}
	for _, x := range xs {
		two.Points = append(two.Points, Point{x, 2})
	}
	k := len(f.Series)
	f.Claims = []Claim{{"§4", "destinations from which it is twice as fast, 512 KiB", "", 10, firstAbove(&f.Series[k-2], two), firstAbove(&f.Series[k-1], two)}}
	return f, nil
}

func crossing004(_ context.Context, o Options) (*Figure, error) {
	f := &Figure{X: Axis{Label: "message", Unit: "B", Log: true}, Y: ratioAxis, Notes: []string{
		"The paper: the tree is slightly better for messages of 2 kB or less. The equations have no crossing, as they count no overhead of a fragment. With overhead the crossing depends on the nodes, " +
			"and is fitted to 2 KiB for 14 destinations.", fitted004}}
	sizes := []int{2, 32, 128, 512, 1 << 10, 1536, 2 << 10, 2560, 3 << 10, 4 << 10, 8 << 10, 16 << 10, 64 << 10, 512 << 10}
	if o.Quick {
		sizes = []int{2, 1 << 10, 2 << 10, 3 << 10, 512 << 10}
	}
	xs := ofInts(sizes...)
	for _, p := range []int{4, 9, most004} {
		name := fmt.Sprintf("%d destinations", p)
		f.Series = append(f.Series, curve(name, Model, xs, func(x float64) float64 { return modelRatio004(p, int(x)) }))
		s, err := curveOf(name, Simulation, xs, func(x float64) (float64, error) { return ratio004(p, int(x)) })
		if err != nil {
			return nil, err
		}
		f.Series = append(f.Series, s)
	}
	one := curve("", Model, xs, func(float64) float64 { return 1 })
	k := len(f.Series)
	f.Claims = []Claim{{"§4", "size from which it is faster, 14 destinations (fitted)", "B", 2048, firstAbove(&f.Series[k-2], &one), firstAbove(&f.Series[k-1], &one)}}
	return f, nil
}

// equations004 is the linear model, by the equations and by the simulator.
func equations004(_ context.Context, o Options) (*Figure, error) {
	f := &Figure{X: destinationAxis, Y: Axis{Label: "time", Unit: "ms"}, Notes: []string{
		"64 KiB. The linear broadcast of equation (2) sends to one destination after the other; simulated transfers of one sender overlap their t0, so that its curve is equation (4) of p messages. " +
			"Equation (5) and the simulation of the symmetric broadcast agree."}}
	const n = 64 << 10
	xs := destinations004(o)
	f.Series = []Series{
		curve("linear", Model, xs, func(x float64) float64 { return linear004.Broadcast(n, int(x)) / 1e6 }),
		curve("symmetric", Model, xs, func(x float64) float64 { return linear004.Symmetric(n, int(x)) / 1e6 }),
	}
	for _, a := range []struct{ label, name string }{{"linear", linearName}, {"symmetric", symmetricName}} {
		s, err := curveOf(a.label, Simulation, xs, func(x float64) (float64, error) {
			model := sim.Linear{T0: sim.Time(linear004.T0), PerByte: sim.PerByte(linear004.Td * 1000)}
			r, err := simulate(a.name, schedule.Params{Ranks: int(x) + 1}, sim.Config{Model: model, Bytes: n})
			if err != nil {
				return 0, err
			}
			return micros(r.Makespan) / 1e3, nil
		})
		if err != nil {
			return nil, err
		}
		f.Series = append(f.Series, s)
	}
	return f, nil
}

// switch004 is what section 3 warns of and section 4 sees: the switch saturates.
func switch004(_ context.Context, o Options) (*Figure, error) {
	f := &Figure{X: destinationAxis, Y: Axis{Label: "time", Unit: "ms"}, Notes: []string{
		"The paper: for large messages the time grows with the nodes, as the switch saturates, but it gives no rate. Ours: a switch that passes on as much as some of its links bring. " +
			"The root's phase crosses one link's worth, the second p-1 of them at once, so that the time grows from where these are more than the switch carries."}}
	const n = 512 << 10
	xs := destinations004(o)
	f.Series = []Series{curve("equation (5)", Model, xs, func(x float64) float64 { return linear004.Symmetric(n, int(x)) / 1e6 })}
	for _, links := range []int{0, 8, 4, 2} {
		name := fmt.Sprintf("switch of %d links", links)
		c := sim.Config{Model: ethernet004, Bytes: n}
		if links == 0 {
			name = "switch that carries all"
		} else {
			c.Switch = ethernet004.GPerByte / sim.PerByte(links)
		}
		s, err := curveOf(name, Simulation, xs, func(x float64) (float64, error) {
			r, err := simulate(symmetricName, schedule.Params{Ranks: int(x) + 1}, c)
			if err != nil {
				return 0, err
			}
			return micros(r.Makespan) / 1e3, nil
		})
		if err != nil {
			return nil, err
		}
		f.Series = append(f.Series, s)
	}
	return f, nil
}

// replies004 is a curve of runs in which every rank replies.
func replies004(label, name string, n int) realCurve {
	return realCurve{label + bytesName(n), Job{Operation: "bcast_ack", Algorithm: name, Bytes: n}}
}
