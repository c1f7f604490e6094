package sim_test

import (
	"cmp"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/schedgen/schedgen/internal/foreign/goal"
	"github.com/schedgen/schedgen/sim"
)

// goalOp is an operation of a random GOAL file. Both ends of a message have its number.
type goalOp struct {
	kind     string // send, recv or calc
	rank     int
	peer     int
	message  int
	amount   int   // bytes or nanoseconds
	requires []int // operations of the same rank, by number
	starts   []int // irequires
}

// randomGOAL draws operations. Each operation waits only for earlier ones.
func randomGOAL(t *rapid.T) (ranks int, ops []goalOp) {
	ranks = rapid.IntRange(1, 4).Draw(t, "ranks")
	rank := rapid.IntRange(0, ranks-1)
	amount := rapid.IntRange(0, 4000)
	own := make([][]int, ranks)
	add := func(op goalOp) {
		for _, list := range []*[]int{&op.requires, &op.starts} {
			for range rapid.SampledFrom([]int{0, 0, 1, 1, 2, 3}).Draw(t, "edges") {
				if before := own[op.rank]; len(before) > 0 {
					*list = append(*list, rapid.SampledFrom(before).Draw(t, "waits for"))
				}
			}
		}
		own[op.rank] = append(own[op.rank], len(ops))
		ops = append(ops, op)
	}
	for message := range rapid.IntRange(1, 12).Draw(t, "steps") {
		from, size := rank.Draw(t, "rank"), amount.Draw(t, "amount")
		if rapid.Bool().Draw(t, "calc") {
			add(goalOp{kind: "calc", rank: from, amount: size * rapid.IntRange(0, 1).Draw(t, "time")})
			continue
		}
		to := rank.Draw(t, "to")
		add(goalOp{kind: "send", rank: from, peer: to, message: message, amount: size})
		add(goalOp{kind: "recv", rank: to, peer: from, message: message, amount: size})
	}
	return ranks, ops
}

// spellGOAL prints operations in the given order, rank by rank.
func spellGOAL(ranks int, ops []goalOp, order []int) string {
	var text strings.Builder
	fmt.Fprintf(&text, "num_ranks %d\n", ranks)
	for rank := range ranks {
		fmt.Fprintf(&text, "rank %d {\n", rank)
		for _, n := range order {
			switch op := &ops[n]; {
			case op.rank != rank:
			case op.kind == "calc":
				fmt.Fprintf(&text, "o%d: calc %d\n", n, op.amount)
			default:
				way := map[string]string{"send": "to", "recv": "from"}[op.kind]
				fmt.Fprintf(&text, "o%d: %s %db %s %d tag %d\n", n, op.kind, op.amount, way, op.peer, op.message)
			}
		}
		for n := range ops {
			if ops[n].rank != rank {
				continue
			}
			for _, a := range ops[n].requires {
				fmt.Fprintf(&text, "o%d requires o%d\n", n, a)
			}
			for _, a := range ops[n].starts {
				fmt.Fprintf(&text, "o%d irequires o%d\n", n, a)
			}
		}
		fmt.Fprintln(&text, "}")
	}
	return text.String()
}

// dumb runs operations one event at a time. An operation that finds the CPU or interface busy is
// tried again when they are free.
type dumb struct {
	ops     []goalOp
	m       sim.LogGP
	order   []int // the order of operations in the file
	queue   []dumbEvent
	changes []func() // other starts and ends at the current rank
	seq     int
	begun   []bool
	ended   []bool
	posted  []bool // of a receive: what it requires has ended
	come    []bool // of a receive: its message has been received
	queued  []bool
	cpu     []sim.Time // by rank
	out, in []sim.Time
}

type dumbEvent struct {
	at      sim.Time
	seq, op int
	message bool // it is the message of the receive op
}

func runDumb(ranks int, ops []goalOp, order []int, m sim.LogGP) []sim.Time {
	n := len(ops)
	d := &dumb{
		ops: ops, m: m, order: order, begun: make([]bool, n), ended: make([]bool, n), posted: make([]bool, n),
		come: make([]bool, n), queued: make([]bool, n), cpu: make([]sim.Time, ranks), out: make([]sim.Time, ranks), in: make([]sim.Time, ranks),
	}
	for rank := range ranks {
		d.free(rank, 0)
	}
	for len(d.queue) > 0 {
		slices.SortFunc(d.queue, func(a, b dumbEvent) int { return cmp.Or(cmp.Compare(a.at, b.at), a.seq-b.seq) })
		e := d.queue[0]
		d.queue = d.queue[1:]
		d.step(e)
	}
	return d.cpu
}

// free queues the operations that can begin at a rank, and ends operations that then can end, one
// after the other.
func (d *dumb) free(rank int, now sim.Time) {
	d.ready(rank, now)
	for len(d.changes) > 0 {
		change := d.changes[0]
		d.changes = d.changes[1:]
		change()
		d.ready(rank, now)
	}
}

// ready queues the operations of a rank that wait for nothing more.
func (d *dumb) ready(rank int, now sim.Time) {
	for _, n := range d.order {
		op := &d.ops[n]
		ok := op.rank == rank && !d.queued[n]
		for _, a := range op.requires {
			ok = ok && d.ended[a]
		}
		for _, a := range op.starts {
			ok = ok && d.begun[a]
		}
		if !ok {
			continue
		}
		d.queued[n] = true
		switch {
		case op.kind == "recv":
			d.posted[n] = true
			d.changes = append(d.changes, func() { d.begun[n] = true })
			if d.come[n] {
				d.changes = append(d.changes, func() { d.ended[n] = true })
			}
		case op.kind == "calc" && op.amount == 0:
			d.changes = append(d.changes, func() { d.begun[n], d.ended[n] = true, true })
		default:
			d.queue = append(d.queue, dumbEvent{at: now, seq: d.next(), op: n})
		}
	}
}

func (d *dumb) next() int { d.seq++; return d.seq }

func (d *dumb) step(e dumbEvent) {
	op := &d.ops[e.op]
	rank, further := op.rank, sim.Time(max(op.amount, 1)-1)
	wire := (further*sim.Time(d.m.GPerByte) + 999) / 1000
	starts := d.cpu[rank]
	switch {
	case e.message:
		starts = max(starts, d.in[rank])
	case op.kind == "send":
		starts = max(starts, d.out[rank])
	}
	if starts > e.at {
		e.at = starts
		d.queue = append(d.queue, e)
		return
	}
	switch {
	case e.message:
		d.cpu[rank], d.in[rank] = e.at+d.m.O+wire, e.at+d.m.Gap+wire
		d.come[e.op], d.ended[e.op] = true, d.posted[e.op]
	case op.kind == "calc":
		d.cpu[rank] = e.at + sim.Time(op.amount)
		d.begun[e.op], d.ended[e.op] = true, true
	default:
		d.cpu[rank], d.out[rank] = e.at+d.m.O, e.at+d.m.Gap+wire
		d.begun[e.op], d.ended[e.op] = true, true
		recv := slices.IndexFunc(d.ops, func(o goalOp) bool { return o.kind == "recv" && o.message == op.message })
		d.queue = append(d.queue, dumbEvent{at: e.at + d.m.O + d.m.L, seq: d.next(), op: recv, message: true})
	}
	d.free(rank, e.at)
}

// TestWorkAgainstADumbSimulator checks that random schedules with calculations take as long as in a
// simulator that does one operation at a time, in any order of the file.
func TestWorkAgainstADumbSimulator(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		ranks, ops := randomGOAL(t)
		order := rapid.Permutation(indices(len(ops))).Draw(t, "order")
		time := rapid.IntRange(0, 3000)
		m := sim.LogGP{
			L: sim.Time(time.Draw(t, "L")), O: sim.Time(time.Draw(t, "o")), Gap: sim.Time(time.Draw(t, "g")),
			GPerByte: sim.PerByte(time.Draw(t, "G")),
		}
		text := spellGOAL(ranks, ops, order)
		g, err := goal.Parse(strings.NewReader(text))
		require.NoError(t, err, text)
		p, err := sim.OfGraph("random", g, 1)
		require.NoError(t, err, text)
		r, err := sim.Run(p, sim.Config{Model: m, Path: true})
		require.NoError(t, err, text)
		require.Equal(t, runDumb(ranks, ops, order, m), r.Returns, "%v\n%s", m, text)
		require.Equal(t, r.Makespan, r.Path[len(r.Path)-1].End, "%v\n%s", m, text)
	})
}

func indices(n int) []int {
	all := make([]int, n)
	for i := range all {
		all[i] = i
	}
	return all
}

// TestWorkComesBack checks that random schedules with calculations take as long when they are
// written as GOAL and read again.
func TestWorkComesBack(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		ranks, ops := randomGOAL(t)
		text := spellGOAL(ranks, ops, rapid.Permutation(indices(len(ops))).Draw(t, "order"))
		var returns [2][]sim.Time
		for i := range returns {
			g, err := goal.Parse(strings.NewReader(text))
			require.NoError(t, err, text)
			p, err := sim.OfGraph("random", g, 1)
			require.NoError(t, err, text)
			r, err := sim.Run(p, sim.Config{Model: sim.DefaultLogGP()})
			require.NoError(t, err, text)
			returns[i] = r.Returns
			var out strings.Builder
			require.NoError(t, goal.Write(&out, g, 1))
			text = out.String()
		}
		require.Equal(t, returns[0], returns[1], text)
	})
}

// pingPong returns two ranks that send a message of one byte there and back, with calculations at
// the given places.
func pingPong(before, between, beside string) string {
	return `num_ranks 2
rank 0 {
  c: calc ` + before + `
  s: send 1b to 1
  r: recv 1b from 1
  d: calc ` + beside + `
  s requires c
  d requires s
}
rank 1 {
  r: recv 1b from 0
  c: calc ` + between + `
  s: send 1b to 0
  c requires r
  s requires c
}
`
}

// TestWorkOnThePathAndBeside checks that a calculation on the critical path adds its time. A
// calculation beside the path adds nothing unless it takes longer than the rest. No calculation
// counts as a message.
func TestWorkOnThePathAndBeside(t *testing.T) {
	m := sim.LogGP{L: 2500, O: 1500, Gap: 1000, GPerByte: 6000}
	const there = 1500 + 2500 + 1500 // o + L + o
	for _, c := range []struct {
		before, between, beside string
		want                    sim.Time
	}{
		{"0", "0", "0", 2 * there},
		{"700", "0", "0", 700 + 2*there},
		{"0", "700", "0", 700 + 2*there},
		{"700", "41", "0", 741 + 2*there},
		{"0", "0", "8000", 2 * there}, // the answer comes 8,000 ns after the send has ended
		{"0", "0", "8001", 2*there + 1},
		{"0", "5000", "13000", 5000 + 2*there},
		{"281474976710656", "0", "0", 1<<48 + 2*there},
	} {
		r, err := ofGOAL(t, pingPong(c.before, c.between, c.beside), 1, sim.Config{Model: m, Path: true})
		require.NoError(t, err)
		require.Equal(t, c.want, r.Makespan, "%+v", c)
		require.EqualValues(t, 2, r.Counts.Sends)
		require.EqualValues(t, 2, r.Counts.Received)
	}
	r, err := ofGOAL(t, pingPong("700", "0", "0"), 1, sim.Config{Model: m, Path: true})
	require.NoError(t, err)
	require.Equal(t, sim.Step{Rank: 0, Op: sim.Work, Peer: -1, End: 700}, r.Path[1])
}

// TestWorkOverlapsASend checks that a calculation runs while a long message keeps the interface
// busy and the next message waits for it.
func TestWorkOverlapsASend(t *testing.T) {
	const text = `num_ranks 2
rank 0 {
  a: send 1001b to 1 tag 1
  b: send 1b to 1 tag 2
  c: calc 3000
  c requires a
}
rank 1 {
  a: recv 1001b from 0 tag 1
  b: recv 1b from 0 tag 2
}
`
	m := sim.LogGP{L: 100, O: 10, Gap: 20, GPerByte: 6000}
	r, err := ofGOAL(t, text, 1, sim.Config{Model: m})
	require.NoError(t, err)
	require.Equal(t, sim.Time(20+6000+10), r.Returns[0], "c has run when b begins")
	r, err = ofGOAL(t, strings.Replace(text, "c requires a", "c requires b", 1), 1, sim.Config{Model: m})
	require.NoError(t, err)
	require.Equal(t, sim.Time(20+6000+10+3000), r.Returns[0])
	r, err = ofGOAL(t, strings.Replace(text, "c requires a", "c irequires b", 1), 1, sim.Config{Model: m})
	require.NoError(t, err)
	require.Equal(t, sim.Time(20+6000+10+3000), r.Returns[0], "b has begun before c does")
}

// TestWorkInEveryModel checks that a calculation takes the CPU in every model.
func TestWorkInEveryModel(t *testing.T) {
	for _, m := range []sim.Model{
		sim.DefaultLogGP(), sim.Linear{T0: 500, PerByte: 1000}, sim.Links{O: 10, Loop: 20},
		sim.PLogP{L: 100, Sizes: []sim.PLogPSize{{Bytes: 1, Send: 10, Recv: 20, Gap: 30}}},
	} {
		without, err := ofGOAL(t, pingPong("0", "0", "0"), 1, sim.Config{Model: m})
		require.NoError(t, err)
		with, err := ofGOAL(t, pingPong("700", "30", "0"), 1, sim.Config{Model: m})
		require.NoError(t, err)
		require.Equal(t, without.Makespan+730, with.Makespan, "%v", m)
	}
}

// TestWorkInALongChain checks that the cost of a chain of calculations and messages is in
// proportion to its length, and that the chain can be run again.
func TestWorkInALongChain(t *testing.T) {
	const steps = 20000
	var text strings.Builder
	text.WriteString("num_ranks 2\n")
	for rank := range 2 {
		fmt.Fprintf(&text, "rank %d {\n", rank)
		for i := range steps {
			fmt.Fprintf(&text, "c%d: calc 7\n", i)
			if i > 0 {
				fmt.Fprintf(&text, "c%d requires m%d\n", i, i-1)
			}
			if i%2 == rank {
				fmt.Fprintf(&text, "m%d: send 1b to %d\nm%d requires c%d\n", i, 1-rank, i, i)
			} else {
				fmt.Fprintf(&text, "m%d: recv 1b from %d\nm%d requires c%d\n", i, 1-rank, i, i)
			}
		}
		text.WriteString("}\n")
	}
	g, err := goal.Parse(strings.NewReader(text.String()))
	require.NoError(t, err)
	p, err := sim.OfGraph("chain", g, 1)
	require.NoError(t, err)
	s, err := sim.New(p, sim.Config{Model: sim.LogGP{L: 100, O: 10}})
	require.NoError(t, err)
	for range 2 {
		r, err := s.Run(1)
		require.NoError(t, err)
		require.Equal(t, sim.Time(steps*(7+10+100+10)), r.Makespan)
	}
}

// TestWorkThatTakesTooLong checks that times whose sum is too large are an error in every run.
func TestWorkThatTakesTooLong(t *testing.T) {
	text := "num_ranks 1\nrank 0 {\n" + strings.Repeat("calc 281474976710656\n", 1<<14+2) + "}\n"
	g, err := goal.Parse(strings.NewReader(text))
	require.NoError(t, err)
	p, err := sim.OfGraph("long", g, 1)
	require.NoError(t, err)
	s, err := sim.New(p, sim.Config{Model: sim.DefaultLogGP()})
	require.NoError(t, err)
	for range 2 {
		_, err = s.Run(1)
		require.ErrorContains(t, err, "simulate barrier/long: times exceed 4611686018427387903 ns")
	}
	g.Ranks[0][3].Time = -1
	_, err = sim.OfGraph("negative", g, 1)
	require.EqualError(t, err, "rank 0: work (line 6) takes -1 ns: must be in 0..4503599627370496")
}

// TestWorkThatIsRefused checks that features that the models do not have are refused.
func TestWorkThatIsRefused(t *testing.T) {
	c := sim.Config{Model: sim.DefaultLogGP()}
	for text, want := range map[string]string{
		"a: calc 5 cpu 1\nb: calc 5":                                                 "rank 0: work a (line 3) is on CPU 1 and work b (line 4) on 0: in the models a rank has one",
		"a: calc 5\nb: send 1b to 0 cpu 2\nr: recv 1b from 0":                        "rank 0: work a (line 3) is on CPU 0 and send b (line 4) on 2: in the models a rank has one",
		"b: send 1b to 0 nic 2\nr: recv 1b from 0 nic 1":                             "rank 0: send b (line 3) is on network interface 2 and recv r (line 4) on 1: in the models a rank has one",
		"a: calc 5\nb: calc 5\na requires b\nb requires a":                           "rank 0: work a (line 3) waits for rank 0: work b (line 4) waits for rank 0: work a (line 3), a cycle",
		"a: calc 5\nb: send 1b to 0\nr: recv 1b from 0\na requires b\nb irequires a": "rank 0: work a (line 3) waits for rank 0: send b (line 4) waits for rank 0: work a (line 3), a cycle",
	} {
		_, err := ofGOAL(t, "num_ranks 1\nrank 0 {\n"+text+"\n}\n", 1, c)
		require.ErrorContains(t, err, want)
	}
	_, err := ofGOAL(t, "num_ranks 1\nrank 0 {\na: calc 5 cpu 3\nb: calc 0\nb requires a\nc: calc 6 cpu 3\n}\n", 1, c)
	require.NoError(t, err, "one CPU, whatever its number")
}

// FuzzWork checks that everything that is read either is refused or runs to its end.
func FuzzWork(f *testing.F) {
	f.Add(pingPong("700", "30", "9"))
	f.Add("num_ranks 1\nrank 0 {\na: calc 5\nb: send 2b to 0\nr: recv 2b from 0\nr requires a\nb irequires a\na irequires a\n}\n")
	rng := rand.New(rand.NewPCG(1, 2))
	ops := []goalOp{{kind: "calc", amount: rng.IntN(100)}, {kind: "send", peer: 1, amount: 3, starts: []int{0}}, {kind: "recv", rank: 1, amount: 3}}
	f.Add(spellGOAL(2, ops, indices(len(ops))))
	f.Fuzz(func(t *testing.T, text string) {
		g, err := goal.Parse(strings.NewReader(text))
		if err != nil {
			return
		}
		longest := sim.Time(0)
		for _, ops := range g.Ranks {
			for i := range ops {
				longest = max(longest, sim.Time(ops[i].Time))
			}
		}
		p, err := sim.OfGraph("fuzz", g, 1)
		if err != nil {
			return
		}
		r, err := sim.Run(p, sim.Config{Model: sim.DefaultLogGP(), Path: true})
		if err != nil {
			require.ErrorContains(t, err, "times")
			return
		}
		require.GreaterOrEqual(t, r.Makespan, longest)
	})
}
