package sim_test

import (
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/schedgen/schedgen/ir"
	"github.com/schedgen/schedgen/schedule"
	"github.com/schedgen/schedgen/sim"
)

// TestClosedFormsOfDoubling checks that in every round of doubling a rank sends, receives and folds
// the whole vector. If the number of ranks is a power of two, that takes log2 P times h+f, with h
// from the start of a send to the end of its receive, and f for a fold. Otherwise the contributions
// of the other ranks are folded before, and the result is sent to them.
func TestClosedFormsOfDoubling(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		m, bytes, wire := drawLogGP(rt)
		m.Gap = min(m.Gap, 2*m.O+m.L) // an interface is free again when the fold has ended
		fold := sim.PerByte(rapid.IntRange(0, 3000).Draw(rt, "fold"))
		log := rapid.IntRange(0, 6).Draw(rt, "log")
		ranks := 1 << log
		h, f := 2*m.O+m.L+wire, sim.Time((int64(fold)*int64(bytes)+999)/1000)
		want := sim.Time(log) * (h + f)
		if log == 0 {
			want = f
		}
		c := sim.Config{Model: m, Bytes: bytes, Fold: fold}
		require.Equal(rt, want, makespan(t, "allreduce/doubling", schedule.Params{Ranks: ranks}, c))
		if more := ranks / 2; more > 0 {
			got := makespan(t, "allreduce/doubling", schedule.Params{Ranks: ranks + more}, c)
			require.GreaterOrEqual(rt, got, want+h+f, "what a rank does for the other may delay it")
		}
	})
}

// folding returns an allreduce whose rank 0 folds all contributions at once. It has 2 chunks, and
// the second may be a byte longer.
func folding(ranks int) *ir.Schedule {
	s := &ir.Schedule{Header: ir.Header{Collective: "allreduce", Algorithm: "test", Ranks: ranks, Chunks: 2}}
	var root ir.Program
	for f := range 2 {
		rule := ir.Rule{When: []ir.Slot{ir.Enter}}
		operands := []ir.Slot{ir.Input(f)}
		for r := 1; r < ranks; r++ {
			v := ir.Value(2*(r-1) + f)
			rule.When, operands = append(rule.When, v), append(operands, v)
		}
		rule.Do = ir.FoldOf(ir.Chunk(f), operands...)
		share := ir.Rule{When: []ir.Slot{ir.Chunk(f)}}
		for r := 1; r < ranks; r++ {
			share.Do = append(share.Do, ir.PutTo(ir.Chunk(f), r))
		}
		root.Rules = append(root.Rules, rule, share)
	}
	root.Values, root.Done = 2*(ranks-1), []ir.Slot{ir.Chunk(0), ir.Chunk(1)}
	s.Programs = append(s.Programs, root)
	for r := 1; r < ranks; r++ {
		both := []ir.Action{ir.PutAs(ir.Input(0), 0, ir.Value(2*(r-1))), ir.PutAs(ir.Input(1), 0, ir.Value(2*(r-1)+1))}
		both[1].Joins = true
		s.Programs = append(s.Programs, ir.Program{Rank: r, Rules: []ir.Rule{{When: []ir.Slot{ir.Enter}, Do: both}}, Done: root.Done})
	}
	return s
}

func TestFoldsTakeTheirBytes(t *testing.T) {
	// Rank 1 sends 5 bytes in 100 ns + 5·2 ns. Each fold takes 10 ns a byte, of 2 and of 3 bytes.
	c := sim.Config{Model: sim.Linear{T0: 100, PerByte: 2000}, Bytes: 5, Fold: 10_000, Path: true}
	r, err := sim.Run(sim.Of(folding(2)), c)
	require.NoError(t, err)
	require.Equal(t, []sim.Time{164, 270}, r.Returns, "100+10, then folds of 20 and 30, a send of 4 and one of 100+6")
	require.EqualValues(t, 2, r.Counts.Folds)
	var ops []string
	for _, s := range r.Path {
		ops = append(ops, s.Op.String())
	}
	require.Equal(t, []string{"enter", "send", "receive", "fold", "fold", "send", "send", "receive"}, ops)
	require.Equal(t, []ir.Slot{ir.Chunk(1)}, r.Path[4].Slots)
	require.Equal(t, []ir.Slot{ir.Value(0), ir.Value(1)}, r.Path[1].Slots)

	c.Fold = 0
	r, err = sim.Run(sim.Of(folding(2)), c)
	require.NoError(t, err)
	require.Equal(t, sim.Time(114), r.Returns[0])
	require.EqualValues(t, 2, r.Counts.Folds)

	// Four operands take three times as long as two.
	c.Fold, c.Path = 10_000, false
	r, err = sim.Run(sim.Of(folding(4)), c)
	require.NoError(t, err)
	require.Equal(t, sim.Time(110+60+90+3*4+2*6), r.Returns[0])
}

// TestFoldsOfNothing checks that a slot that does not exist is an error.
func TestFoldsOfNothing(t *testing.T) {
	s := folding(2)
	s.Programs[0].Rules[0].Do[0].As = ir.Value(7)
	_, err := sim.Run(sim.Of(s), sim.Config{Model: sim.DefaultLogGP()})
	require.ErrorContains(t, err, "rank 0, rule 0: there is no slot v7 to fold into")
	s = folding(2)
	s.Programs[1].Rules[0].Do[1].As = ir.Value(9)
	_, err = sim.Run(sim.Of(s), sim.Config{Model: sim.DefaultLogGP()})
	require.ErrorContains(t, err, "rank 0: v9 in a message to it: no such slot there")
}
