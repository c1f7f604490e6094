package papers

import (
	"context"
	"fmt"
	"math"
	"math/bits"

	"github.com/schedgen/schedgen/schedule"
	"github.com/schedgen/schedgen/sim"
)

// figures004 returns the figures of paper 004, the symmetric broadcast.
func figures004() []Entry {
	return []Entry{
		{"004/1", "table 1: methods of broadcasting, execution time of 64 KiB", methods004},
		{"004/2-tree", "time of the tree against destinations, 2 B to 512 KiB", logarithmic004(tree004)},
		{"004/2-symmetric", "time of the symmetric broadcast against destinations, 2 B to 512 KiB", logarithmic004(symmetric004)},
		{"004/2-both", "tree and symmetric broadcast in one picture", logarithmic004(both004)},
		{"004/2d", "figure 2 d: the tree on a linear scale", tree004},
		{"004/2e", "figure 2 e: the symmetric broadcast on a linear scale", symmetric004},
		{"004/2f", "figure 2 f: both on a linear scale", both004},
		{"004/small", "small messages in p² fragments and in one step, 14 destinations", small004},
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
	multicastName = "bcast/mcast-acktree"
	most004       = 14 // destinations of the largest run (section 4)
)

// ethernet004 is the testbed of paper 004. Links of 100 Mbit/s carry a byte in 80 ns and the
// smallest frame, of 84 bytes with its gaps, in 6.72 µs. The text gives neither the latency nor the
// CPU time of a message. An empty transfer is assumed to take 150 µs, and the overhead is fitted to
// the crossing near 2 KiB among 15 nodes.
var ethernet004 = sim.LogGP{L: 150_000 - 2*overhead004, O: overhead004, Gap: 6720, GPerByte: 80_000}

const overhead004 = 22_000

// linear004 is the same testbed in the paper's own model.
var linear004 = Linear{T0: 150_000, Td: 80}

const fitted004 = "Links of 100 Mbit/s carry a byte in 80 ns. A transfer of no bytes is taken to be 150 µs, and what a message takes a CPU is fitted to the crossing near 2 KiB: 22 µs a send and " +
	"a receive. The simulation is LogGP."

const busy004 = "The model of the symmetric broadcast is equation (5) and 2·(p-1) overheads, since a destination's CPU sends p-1 fragments and receives p. Equation (5) alone has no overhead, and gives half of " +
	"the simulated time for 2 KiB."

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
	destinationAxis = Axis{Label: "destinations", Whole: true}
	timeAxis004     = Axis{Label: "time", Unit: "ms"}
)

// simulated004 returns the time of a broadcast of n bytes to p destinations, in ms.
func simulated004(name string, p, n int) (float64, error) {
	r, err := simulate(name, schedule.Params{Ranks: p + 1}, sim.Config{Model: ethernet004, Bytes: n})
	if err != nil {
		return 0, err
	}
	return micros(r.Makespan) / 1e3, nil
}

// busySymmetric004 is the model of the symmetric broadcast with the overhead of fragments.
func busySymmetric004(n, p int) float64 { return linear004.SymmetricBusy(n, p, overhead004) }

// logarithmic004 returns the figure with a logarithmic scale of times.
func logarithmic004(figure func(context.Context, Options) (*Figure, error)) func(context.Context, Options) (*Figure, error) {
	return func(ctx context.Context, o Options) (*Figure, error) {
		f, err := figure(ctx, o)
		if f != nil {
			f.Y.Log = true
		}
		return f, err
	}
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
			"Ours grows for small messages likewise; the switch carries all, see 004/switch.", busy004, fitted004}}
	return f, f.bySize004(o, "", symmetricName, busySymmetric004, sizes004(o))
}

func both004(ctx context.Context, o Options) (*Figure, error) {
	f := &Figure{X: destinationAxis, Y: timeAxis004, Notes: []string{
		"The paper: equal for one destination. Runs, where there are any, are over this machine's own transport and include the replies of all ranks.", busy004, fitted004}}
	sizes := []int{2 << 10, 512 << 10}
	if err := f.bySize004(o, "tree, ", treeName, linear004.Tree, sizes); err != nil {
		return nil, err
	}
	if err := f.bySize004(o, "symmetric, ", symmetricName, busySymmetric004, sizes); err != nil {
		return nil, err
	}
	return f, f.runScaled(ctx, o, ofInts(1, 2, 4, 7), 1, 1000, replies004("tree, ", treeName, 512<<10), replies004("symmetric, ", symmetricName, 512<<10))
}

// ratio004 returns the time of the tree divided by the time of the symmetric broadcast.
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

// equations004 compares the linear model's equations with the simulator.
func equations004(_ context.Context, o Options) (*Figure, error) {
	f := &Figure{X: destinationAxis, Y: Axis{Label: "time", Unit: "ms"}, Notes: []string{
		"64 KiB. In equation (2) the sends are synchronous: one begins when the one before has arrived. In equations (4) and (5) they are asynchronous and overlap their t0. The simulated sends are likewise, and agree " +
			"with the equations, to the rounding of a fragment's bytes."}}
	const n = 64 << 10
	xs := destinations004(o)
	f.Series = []Series{
		curve("linear", Model, xs, func(x float64) float64 { return linear004.Broadcast(n, int(x)) / 1e6 }),
		curve("symmetric", Model, xs, func(x float64) float64 { return linear004.Symmetric(n, int(x)) / 1e6 }),
	}
	for _, a := range []struct {
		label, name string
		sync        bool
	}{{"linear", linearName, true}, {"symmetric", symmetricName, false}} {
		s, err := curveOf(a.label, Simulation, xs, func(x float64) (float64, error) {
			model := sim.Linear{T0: sim.Time(linear004.T0), PerByte: sim.PerByte(linear004.Td * 1000), Sync: a.sync}
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
	s := f.Series
	f.Claims = []Claim{
		{"§2, eq. (2)", "linear, 14 destinations", "ms", linear004.Broadcast(n, most004) / 1e6, s[0].y(most004), s[2].y(most004)},
		{"§3, eq. (5)", "symmetric, 14 destinations", "ms", linear004.Symmetric(n, most004) / 1e6, s[1].y(most004), s[3].y(most004)},
	}
	return f, nil
}

// methods004 returns table 1. Its columns with numbers can be reproduced: the messages that leave
// the source, and how the execution time grows with the destinations.
func methods004(_ context.Context, o Options) (*Figure, error) {
	const n, half = 64 << 10, most004 / 2
	f := &Figure{X: destinationAxis, Y: timeAxis004, Notes: []string{
		"Table 1 states the messages at the source, and the order of the execution time: O(n), O(log2 n), O(1), O(1). The order is compared as the time of 14 destinations to that of 7, of log2 15 to log2 8 for the tree. " +
			"Its tree is binary, with two messages at the source; ours is binomial, as MPICH's, and its source sends one for each round. Hardware support is a multicast with acknowledgements up a tree (bcast/mcast-acktree). " +
			"Fragments of the symmetric broadcast are parts of one message.", fitted004}}
	log := math.Log2(most004+1) / math.Log2(half+1)
	xs := destinations004(o)
	for _, m := range []struct {
		label, name    string
		source, growth float64 // as stated
		sends, model   func(p int) float64
	}{
		{"linear", linearName, most004, 2, func(p int) float64 { return float64(p) }, func(p int) float64 { return linear004.Broadcast(n, p) }},
		{"tree", treeName, 2, log, func(p int) float64 { return float64(bits.Len(uint(p))) }, func(p int) float64 { return linear004.Tree(n, p) }},
		{"hardware support", multicastName, 1, 1, func(int) float64 { return 1 }, func(int) float64 { return linear004.Transfer(n) }},
		{"symmetric", symmetricName, 1, 1, func(int) float64 { return 1 }, func(p int) float64 { return linear004.Symmetric(n, p) }},
	} {
		f.Series = append(f.Series, curve(m.label, Model, xs, func(x float64) float64 { return m.model(int(x)) / 1e6 }))
		s, err := curveOf(m.label, Simulation, xs, func(x float64) (float64, error) { return simulated004(m.name, int(x), n) })
		if err != nil {
			return nil, err
		}
		f.Series = append(f.Series, s)
		sent, err := atSource004(m.name, most004)
		if err != nil {
			return nil, err
		}
		late, err := simulated004(m.name, most004, n)
		if err != nil {
			return nil, err
		}
		early, err := simulated004(m.name, half, n)
		if err != nil {
			return nil, err
		}
		f.Claims = append(f.Claims,
			Claim{"table 1", m.label + ": messages at the source, 14 destinations", "", m.source, m.sends(most004), sent},
			Claim{"table 1", m.label + ": time of 14 destinations to 7", "", m.growth, m.model(most004) / m.model(half), late / early})
	}
	return f, nil
}

// atSource004 returns how many messages leave the source of a broadcast to p destinations. A chunk
// counts as a part of a message.
func atSource004(name string, p int) (float64, error) {
	spec, err := schedule.New(name, schedule.Params{Ranks: p + 1})
	if err != nil {
		return 0, err
	}
	sends, program := 0, spec.Program(0)
	for i := range program.Rules {
		// the other rules answer requests
		if r := &program.Rules[i]; !r.IsRepair() && len(r.When) == 1 {
			sends += len(r.Do)
		}
	}
	return float64(sends) / float64(spec.Params().Chunks), nil
}

// small004 covers the advice of section 3 for small messages: everything in a single step.
func small004(_ context.Context, o Options) (*Figure, error) {
	f := &Figure{X: Axis{Label: "message", Unit: "B", Log: true}, Y: Axis{Label: "time", Unit: "ms"}, Notes: []string{
		"The paper: for small messages it is better to distribute the whole information in a single step during phase 1 than in p² fragments. So does the runtime, up to 512·p/(p-1) bytes, 551 for 14 destinations, where it cuts by the length " +
			"(selection.Chunks). In the simulation the step takes less up to some 700 bytes.", fitted004}}
	sizes := []int{2, 8, 32, 128, 256, 551, 700, 1 << 10, 2 << 10, 4 << 10}
	if o.Quick {
		sizes = []int{2, 551, 2 << 10}
	}
	xs := ofInts(sizes...)
	for _, c := range []struct {
		label, name string
		chunks      int
	}{{"tree", treeName, 1}, {"symmetric, fragments", symmetricName, most004}, {"symmetric, one step", symmetricName, 1}} {
		s, err := curveOf(c.label, Simulation, xs, func(x float64) (float64, error) {
			r, err := simulate(c.name, schedule.Params{Ranks: most004 + 1, Chunks: c.chunks}, sim.Config{Model: ethernet004, Bytes: int(x)})
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

// switch004 covers the saturation of the switch that section 3 warns of and section 4 sees.
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

// replies004 returns a curve of runs in which every rank replies.
func replies004(label, name string, n int) realCurve {
	return realCurve{label + bytesName(n), Job{Operation: "bcast_ack", Algorithm: name, Bytes: n}}
}
