package sim_test

import (
	"fmt"
	"math/bits"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/schedgen/schedgen/ir"
	"github.com/schedgen/schedgen/schedule"
	"github.com/schedgen/schedgen/sim"
)

// collective returns the schedule of an algorithm of scatter, gather, allgather or alltoall, with
// one chunk a block.
func collective(name string, ranks, root int) *ir.Schedule {
	h := ir.Header{Ranks: ranks, Chunks: ranks}
	var program func(v int, rank func(v int) int) ir.Program // of the rank v behind the root
	switch name {
	case "allgather/ring":
		h.Collective, h.Algorithm, program = "allgather", "ring", ring(ranks)
	case "allgather/bruck":
		h.Collective, h.Algorithm, program = "allgather", "bruck", bruck(ranks)
	case "alltoall/linear":
		h.Collective, h.Algorithm, program = "alltoall", "linear", exchange(ranks)
		h.Chunks *= ranks
	case "gather/linear":
		h.Collective, h.Algorithm, program = "gather", "linear", gatherTree(ranks, func(v int) int { return min(v, 1) })
	case "gather/binomial":
		h.Collective, h.Algorithm, program = "gather", "binomial", gatherTree(ranks, func(v int) int { return v & -v })
	case "scatter/linear":
		h.Collective, h.Algorithm, program = "scatter", "linear", scatterTree(ranks, func(v int) int { return 1 })
	case "scatter/binomial":
		h.Collective, h.Algorithm, program = "scatter", "binomial", scatterTree(ranks, func(v int) int { return v & -v })
	default:
		panic(name)
	}
	row := h.Row()
	if row.Rooted {
		h.Root = root
	}
	s := &ir.Schedule{Header: h, Programs: make([]ir.Program, ranks)}
	for v := range ranks {
		rank := (v + h.Root) % ranks
		p := program(v, func(v int) int { return (v + h.Root + ranks) % ranks })
		p.Rank = rank
		for k := range h.Chunks {
			if wanted := h.Wanted(rank); wanted.Has(k) && !h.Holds(rank, k) {
				p.Done = append(p.Done, ir.Chunk(k))
			}
		}
		if p.Done == nil {
			p.Done = []ir.Slot{ir.Enter}
		}
		s.Programs[rank] = p
	}
	return s
}

type programOf = func(v int, rank func(v int) int) ir.Program

// ring passes each block to the next rank.
func ring(ranks int) programOf {
	return func(v int, rank func(int) int) (p ir.Program) {
		for i := range ranks - 1 {
			c := ir.Chunk(rank(v - i))
			when := []ir.Slot{ir.Enter}
			if i > 0 {
				when = append(when, c)
			}
			p.Rules = append(p.Rules, ir.Rule{When: when, Do: []ir.Action{ir.PutTo(c, rank(v+1))}})
		}
		return p
	}
}

// bruck puts the own block and the next ones to the rank 2^i before, in one message.
func bruck(ranks int) programOf {
	return func(v int, rank func(int) int) (p ir.Program) {
		for step := 1; step < ranks; step *= 2 {
			when, blocks := []ir.Slot{ir.Enter}, []ir.Slot{}
			for i := range min(step, ranks-step) {
				c := ir.Chunk(rank(v + i))
				blocks = append(blocks, c)
				if i > 0 {
					when = append(when, c)
				}
			}
			p.Rules = append(p.Rules, ir.Rule{When: when, Do: ir.PutAll(rank(v-step), blocks...)})
		}
		return p
	}
}

// exchange puts every block to its rank, starting with the next one.
func exchange(ranks int) programOf {
	return func(v int, rank func(int) int) ir.Program {
		var do []ir.Action
		for d := 1; d < ranks; d++ {
			to := rank(v + d)
			do = append(do, ir.PutTo(ir.Chunk(v*ranks+to), to))
		}
		return ir.Program{Rules: sending(do)}
	}
}

func sending(do []ir.Action) []ir.Rule {
	if len(do) == 0 {
		return nil
	}
	return []ir.Rule{{When: []ir.Slot{ir.Enter}, Do: do}}
}

// gatherTree puts the blocks of a sub-tree to its parent in one message. The sub-tree of v has the
// blocks of v … v+below(v)-1. Its parent is v-below(v), or the root 0 if all other sub-trees have
// one rank.
func gatherTree(ranks int, below func(v int) int) programOf {
	return func(v int, rank func(int) int) (p ir.Program) {
		if v == 0 {
			return p
		}
		when, blocks := []ir.Slot{ir.Enter}, []ir.Slot{}
		for i := v; i < min(v+below(v), ranks); i++ {
			blocks = append(blocks, ir.Chunk(rank(i)))
			if i > v {
				when = append(when, ir.Chunk(rank(i)))
			}
		}
		parent := v - below(v)
		if below(ranks-1) == 1 && below(2) == 1 {
			parent = 0
		}
		p.Rules = []ir.Rule{{When: when, Do: ir.PutAll(rank(parent), blocks...)}}
		return p
	}
}

// scatterTree puts the blocks of sub-trees to their ranks, the largest first.
func scatterTree(ranks int, below func(v int) int) programOf {
	return func(v int, rank func(int) int) (p ir.Program) {
		own := ranks
		if v > 0 {
			own = below(v)
		}
		var do []ir.Action
		when := []ir.Slot{ir.Enter}
		if below(2) == 1 { // linear: all from the root
			if v > 0 {
				return p
			}
			for to := 1; to < ranks; to++ {
				do = append(do, ir.PutTo(ir.Chunk(rank(to)), rank(to)))
			}
			p.Rules = sending(do)
			return p
		}
		for step := 1 << bits.Len(uint(own-1)) / 2; step > 0; step /= 2 {
			var blocks []ir.Slot
			for i := v + step; i < min(v+2*step, ranks, v+own); i++ {
				blocks = append(blocks, ir.Chunk(rank(i)))
				if v > 0 {
					when = append(when, ir.Chunk(rank(i)))
				}
			}
			if blocks != nil {
				do = append(do, ir.PutAll(rank(v+step), blocks...)...)
			}
		}
		if do != nil {
			p.Rules = []ir.Rule{{When: when, Do: do}}
		}
		return p
	}
}

// TestCollectivesOfTests checks that the schedules above do what their names say.
func TestCollectivesOfTests(t *testing.T) {
	for _, name := range []string{"allgather/ring", "allgather/bruck", "alltoall/linear", "gather/linear", "gather/binomial", "scatter/linear", "scatter/binomial"} {
		for _, ranks := range []int{1, 2, 3, 5, 8, 13} {
			t.Run(fmt.Sprint(name, ranks), func(t *testing.T) {
				s := collective(name, ranks, ranks/2)
				require.NoError(t, ir.Validate(s))
				r, err := sim.Run(sim.Of(s), sim.Config{Model: sim.DefaultLogGP(), Bytes: 1})
				require.NoError(t, err)
				require.NotEqual(t, sim.Never, r.Makespan)
				require.Equal(t, r.Counts.Sends, r.Counts.Received)
			})
		}
	}
}

// TestClosedFormsOfCollectives checks closed forms in the LogGP model, with wire(k) = (k·n-1)·G for
// a message of k blocks. A send takes d(k) = max(o, g+wire(k)) of its sender before the next one
// begins. What it triggers at its receiver begins h(k) = 2o+L+wire(k) later. A receiver takes r =
// max(o, g) + wire(1) for each of several waiting messages.
func TestClosedFormsOfCollectives(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		m, bytes, _ := drawLogGP(t)
		bytes = max(bytes, 1)
		ranks := rapid.IntRange(2, 40).Draw(t, "ranks")
		root := rapid.IntRange(0, ranks-1).Draw(t, "root")
		wire := func(k int) sim.Time { return sim.Time(int64(m.GPerByte) / 1000 * int64(k*bytes-1)) }
		d := func(k int) sim.Time { return max(m.O, m.Gap+wire(k)) }
		h := func(k int) sim.Time { return 2*m.O + m.L + wire(k) }
		received := max(m.O, m.Gap) + wire(1)
		of := func(name string, want sim.Time, sends int) {
			r, err := sim.Run(sim.Of(collective(name, ranks, root)), sim.Config{Model: m, Bytes: bytes})
			require.NoError(t, err)
			require.Equal(t, want, r.Makespan, name)
			require.EqualValues(t, sends, r.Counts.Sends, name)
		}
		all := sim.Time(ranks - 2) // messages that are sent or received before the last one
		of("allgather/ring", all*max(d(1), h(1))+h(1), ranks*(ranks-1))
		of("scatter/linear", all*d(1)+h(1), ranks-1)
		of("gather/linear", all*received+h(1), ranks-1)

		levels := bits.Len(uint(ranks)) - 1
		ranks, root = 1<<levels, root&(1<<levels-1)
		bruck, scatter, gather := h(1<<(levels-1)), h(1), sim.Time(0)
		for i := range levels {
			if i < levels-1 {
				bruck += max(d(1<<i), h(1<<i))
			}
			if i > 0 {
				scatter += max(d(1<<i), h(1<<i))
			}
			gather += h(1 << i)
		}
		of("allgather/bruck", bruck, ranks*levels)
		of("scatter/binomial", scatter, ranks-1)
		// so that an earlier child does not keep a receiver's interface busy
		m.Gap = min(m.Gap, 2*m.O+m.L)
		of("gather/binomial", gather, ranks-1)

		// so that everything is sent before the first block comes
		m.L += max(0, sim.Time(ranks-2))*d(1) + 1
		of("alltoall/linear", sim.Time(ranks-2)*(max(m.O, m.Gap)+wire(1))+h(1), ranks*(ranks-1))
	})
}

// TestFiguresOfCollectives checks figures for the parameters of LogGOPSim, with blocks of 1,000
// bytes at 8 ranks.
func TestFiguresOfCollectives(t *testing.T) {
	for _, c := range []struct {
		name     string
		makespan sim.Time
	}{
		// wire(1) = 5,994 ns, d(1) = 6,994, h(1) = 11,494, received 7,494
		{"allgather/ring", 7 * 11_494},
		{"allgather/bruck", 11_494 + 17_494 + 29_494}, // 1, 2 and 4 blocks
		{"gather/binomial", 11_494 + 17_494 + 29_494},
		{"scatter/binomial", 29_494 + 17_494 + 11_494},
		{"gather/linear", 6*7_494 + 11_494},
		{"scatter/linear", 6*6_994 + 11_494},
	} {
		r, err := sim.Run(sim.Of(collective(c.name, 8, 3)), sim.Config{Model: sim.DefaultLogGP(), Bytes: 1000})
		require.NoError(t, err)
		require.Equal(t, c.makespan, r.Makespan, c.name)
	}
}

// TestBundleIsOneMessage checks that in every model a message of several blocks takes as long as
// one block of the same total length, in one chunk or in several, and that it counts as one
// message.
func TestBundleIsOneMessage(t *testing.T) {
	link := sim.Link{Rate: 1e9, Delay: 700}
	for _, m := range []sim.Model{
		sim.DefaultLogGP(),
		sim.LogGP{L: 100, O: 20, Gap: 30, GPerByte: 2500, OPerByte: 1500, Check: 7},
		sim.PLogP{L: 500, Sizes: []sim.PLogPSize{{Bytes: 1, Send: 10, Recv: 20, Gap: 30}, {Bytes: 1000, Send: 500, Recv: 700, Gap: 900}}},
		sim.Linear{T0: 1000, PerByte: 80_000},
		sim.Linear{T0: 1000, PerByte: 80_000, Sync: true},
		sim.Links{O: 50, Loop: 5, Up: link, Down: link},
	} {
		for _, crossing := range []sim.PerByte{0, 90_000} {
			for _, cut := range []int{1, 3} {
				// Rank 0 puts three blocks of 70 bytes to rank 1, and one of 210.
				h := ir.Header{Collective: "scatter", Algorithm: "test", Ranks: 3, Chunks: 3 * cut}
				var slots []ir.Slot
				for k := range h.Chunks {
					slots = append(slots, ir.Chunk(k))
				}
				done := make([]ir.Slot, 0)
				for k := range cut {
					done = append(done, ir.Chunk(cut+k))
				}
				bundled := &ir.Schedule{Header: h, Programs: []ir.Program{
					{Rules: sending(ir.PutAll(1, slots...)), Done: []ir.Slot{ir.Enter}},
					{Rank: 1, Done: done},
					{Rank: 2, Done: []ir.Slot{ir.Enter}},
				}}
				h.Collective, h.Chunks = "bcast", 1
				single := &ir.Schedule{Header: h, Programs: []ir.Program{
					{Rules: sending([]ir.Action{ir.PutTo(ir.Chunk(0), 1)}), Done: []ir.Slot{ir.Enter}},
					{Rank: 1, Done: []ir.Slot{ir.Chunk(0)}},
					{Rank: 2, Done: []ir.Slot{ir.Enter}},
				}}
				got, err := sim.Run(sim.Of(bundled), sim.Config{Model: m, Bytes: 70, Switch: crossing, Path: true})
				require.NoError(t, err)
				want, err := sim.Run(sim.Of(single), sim.Config{Model: m, Bytes: 210, Switch: crossing, Path: true})
				require.NoError(t, err)
				require.Positive(t, want.Makespan)
				require.Equal(t, slots, got.Path[1].Slots)
				for i := range want.Path {
					want.Path[i].Slots = got.Path[i].Slots
				}
				require.Equal(t, want, got, "%v, switch %v, %d chunks a block", m, crossing, cut)
			}
		}
	}
}

// TestRulesBehindBundleFireInOrder checks that all slots of a message are set at once. The rules
// that then are ready fire in their own order, not in the order of the slots.
func TestRulesBehindBundleFireInOrder(t *testing.T) {
	rule := func(to int, when ...ir.Slot) ir.Rule {
		return ir.Rule{When: when, Do: []ir.Action{ir.PutTo(when[0], to)}}
	}
	c := []ir.Slot{ir.Chunk(0), ir.Chunk(1), ir.Chunk(2)}
	s := &ir.Schedule{
		Header: ir.Header{Collective: "scatter", Algorithm: "test", Ranks: 3, Chunks: 3},
		Programs: []ir.Program{
			{Rules: sending(ir.PutAll(1, c[2], c[1])), Done: []ir.Slot{ir.Enter}},
			{Rank: 1, Rules: []ir.Rule{rule(0, c[1], c[2]), rule(2, c[2])}, Done: []ir.Slot{c[1]}},
			{Rank: 2, Done: []ir.Slot{c[2]}},
		},
	}
	r, err := sim.Run(sim.Of(s), sim.Config{Model: sim.LogGP{L: 100, O: 10}})
	require.NoError(t, err)
	require.Equal(t, []sim.Time{0 + 10, 120 + 20, 240 + 10}, r.Returns)
}

// TestDelayIsOfRoots checks that the root's delay, and the message that it waits for, apply only to
// collectives with a root.
func TestDelayIsOfRoots(t *testing.T) {
	run := func(name string, d sim.Delay) sim.Time {
		r, err := sim.Run(sim.Of(collective(name, 4, 2)), sim.Config{Model: sim.LogGP{L: 100, O: 10}, Delay: d})
		require.NoError(t, err)
		return r.Makespan
	}
	for _, name := range []string{"scatter/linear", "scatter/binomial"} {
		without := run(name, sim.Delay{})
		require.Equal(t, without+500, run(name, sim.Delay{Fixed: 500}), name)
		require.Equal(t, without+120, run(name, sim.Delay{Peer: true}), name)
	}
	require.EqualValues(t, 500+3*10, run("gather/linear", sim.Delay{Fixed: 500}))
	for _, name := range []string{"allgather/ring", "allgather/bruck", "alltoall/linear"} {
		require.Equal(t, run(name, sim.Delay{}), run(name, sim.Delay{Fixed: 500}), name)
		require.Equal(t, run(name, sim.Delay{}), run(name, sim.Delay{Peer: true}), name)
	}
}

// TestRootBeginsLate checks that a root that has waited for the message folds what has come by
// then, and returns.
func TestRootBeginsLate(t *testing.T) {
	for _, a := range schedule.Algorithms() {
		if row, _ := ir.CollectiveNamed(a.Collective); !row.Rooted {
			continue
		}
		spec, err := schedule.New(a.Name, schedule.Params{Ranks: 5, Root: 2})
		require.NoError(t, err, a.Name)
		c := sim.Config{Model: sim.LogGP{L: 100, O: 10}, Repair: 1000, Delay: sim.Delay{Peer: true}, Arrival: sim.Arrival{Skew: 5000}}
		for c.Seed = range 20 {
			r, err := sim.Run(sim.Of(spec.Schedule()), c)
			require.NoError(t, err, a.Name)
			require.NotEqual(t, sim.Never, r.Makespan, "%s, seed %d", a.Name, c.Seed)
		}
	}
}

// TestBadCollectives checks errors for schedules of several blocks that cannot be simulated.
func TestBadCollectives(t *testing.T) {
	s := collective("allgather/bruck", 8, 0)
	c := sim.Config{Model: sim.DefaultLogGP(), Bytes: 1}
	s.Programs[0].Rules[1].Do[1].To = 3
	_, err := sim.Run(sim.Of(s), c)
	require.ErrorContains(t, err, "rank 0, rule 1: one message of several slots consists of puts to one rank")

	s = collective("allgather/bruck", 8, 0)
	s.Programs[0].Rules[1].Do[1].Slot = ir.Chunk(8)
	_, err = sim.Run(sim.Of(s), c)
	require.ErrorContains(t, err, "rank 0: put of c8 to rank 6: no such slot there")

	s = collective("allgather/bruck", 8, 0)
	s.Programs[0].Rules[1].Do[1].Slot = ir.Signal(5)
	_, err = sim.Run(sim.Of(s), c)
	require.ErrorContains(t, err, "s5")

	s = collective("allgather/bruck", 8, 0)
	s.Chunks = 9
	_, err = sim.Run(sim.Of(s), c)
	require.ErrorContains(t, err, "9 chunks of 8 blocks")

	c.Bytes = 1 << 59 // one block is possible, but four are not
	c.Model = sim.Linear{PerByte: 5}
	_, err = sim.Run(sim.Of(collective("allgather/ring", 8, 0)), c)
	require.NoError(t, err)
	_, err = sim.Run(sim.Of(collective("allgather/bruck", 8, 0)), c)
	require.ErrorContains(t, err, "times could exceed")
	c.Bytes, c.Model = 1<<62, sim.Linear{}
	_, err = sim.Run(sim.Of(collective("allgather/bruck", 8, 0)), c)
	require.ErrorContains(t, err, "a message to rank")
}

// TestCollectivesAgain checks that runs of the same simulation are equal, whatever the previous run
// left in memory.
func TestCollectivesAgain(t *testing.T) {
	s, err := sim.New(sim.Of(collective("allgather/bruck", 13, 0)), sim.Config{Model: sim.DefaultLogGP(), Bytes: 10, Noise: 5000})
	require.NoError(t, err)
	first, err := s.Run(7)
	require.NoError(t, err)
	_, err = s.Run(8)
	require.NoError(t, err)
	again, err := s.Run(7)
	require.NoError(t, err)
	require.Equal(t, first, again)
}
