package sim

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/schedgen/schedgen/ir"
	"github.com/schedgen/schedgen/schedule"
)

// TestShapesAreShared checks that ranks that do the same with other ranks have one shape, whatever
// ranks were between them.
func TestShapesAreShared(t *testing.T) {
	for _, c := range []struct {
		algorithm string
		want      int
	}{
		{"barrier/dissemination", 1},
		// the root, ranks with six children, one with fewer, and ranks without children
		{"barrier/hsb", 4},
		{"bcast/chain", 3},    // the first, the last and the ranks between
		{"bcast/binomial", 9}, // for 0 to 7 children, and for the root
	} {
		s, err := schedule.New(c.algorithm, schedule.Params{Ranks: 256})
		require.NoError(t, err)
		all, found := shapes{}, map[*shape]bool{}
		for rank := range 256 {
			p := s.Program(rank)
			shape, _, err := all.shapeOf(&p, s.Header().Chunks, false)
			require.NoError(t, err)
			found[shape] = true
		}
		require.Len(t, found, c.want, c.algorithm)
	}
}

// TestShapesAreDense checks that with several blocks a node has slots for the chunks of its own
// program, numbered in the order in which the program names them. Ranks that do the same with other
// blocks have one shape.
func TestShapesAreDense(t *testing.T) {
	const ranks = 300
	all := shapes{dense: true}
	of := func(p *ir.Program) *shape {
		s, words, err := all.shapeOf(p, ranks*ranks, false)
		require.NoError(t, err)
		// the last are the list of the message of two
		require.Len(t, words, int(s.lists)-len(s.begin)+3)
		require.EqualValues(t, 1+ranks, s.slots)
		return s
	}
	program := func(r int) *ir.Program { // of an alltoall whose first block goes with the next one
		p := ir.Program{Rank: r, Rules: []ir.Rule{{When: []ir.Slot{ir.Enter}, Do: ir.PutAll((r+1)%ranks, ir.Chunk(r*ranks), ir.Chunk(r*ranks+1))}}}
		for s := range ranks {
			p.Done = append(p.Done, ir.Chunk(s*ranks+r))
		}
		return &p
	}
	first := of(program(0))
	require.Same(t, first, of(program(7)))
	p := program(1)
	p.Done[0], p.Rules[0].When = ir.Chunk(1), []ir.Slot{ir.Enter, ir.Chunk(1)}
	require.NotSame(t, first, of(p))
	p.Done[0] = ir.Chunk(ranks * ranks)
	_, _, err := all.shapeOf(p, ranks*ranks, false)
	require.ErrorContains(t, err, "rank 1: there is no slot c90000 for done to wait for")
}

// TestShapesTellApart checks that programs that differ in anything but sends and destinations have
// different shapes.
func TestShapesTellApart(t *testing.T) {
	program := func() ir.Program {
		s0, s1 := ir.Signal(0), ir.Signal(1)
		return ir.Program{Signals: 3, Done: []ir.Slot{s0}, Rules: []ir.Rule{
			{When: []ir.Slot{s0, s1}, Do: []ir.Action{ir.PutTo(ir.Chunk(0), 1), ir.PutTo(s0, 2)}},
			{When: []ir.Slot{s1}, Do: []ir.Action{ir.PutTo(s1, 3)}, Unless: s0, After: 2},
		}}
	}
	all := shapes{}
	of := func(change func(p *ir.Program)) *shape {
		p := program()
		change(&p)
		s, _, err := all.shapeOf(&p, 2, true)
		require.NoError(t, err)
		return s
	}
	first := of(func(*ir.Program) {})
	require.Same(t, first, of(func(p *ir.Program) { p.Rank, p.Rules[0].Do[1] = 7, ir.PutTo(ir.Signal(1), 5) }))
	for i, change := range []func(p *ir.Program){
		func(p *ir.Program) { p.Signals = 4 },
		func(p *ir.Program) { p.Done = nil },
		func(p *ir.Program) { p.Rules = p.Rules[:1] },
		func(p *ir.Program) { p.Rules[0].When = p.Rules[0].When[:1] },
		func(p *ir.Program) { p.Rules[1].When[0] = ir.Signal(2) },
		func(p *ir.Program) { p.Rules[1].When = p.Rules[0].When[:1] },
		func(p *ir.Program) {
			p.Rules[0].Do, p.Rules[1].Do = p.Rules[0].Do[:1], append(p.Rules[0].Do[1:], p.Rules[1].Do...)
		},
		func(p *ir.Program) { p.Rules[1].Unless = ir.Chunk(1) },
		func(p *ir.Program) { p.Rules[1].Unless, p.Rules[1].After = ir.None, 0 },
		func(p *ir.Program) { p.Rules[1].After = 3 },
	} {
		require.NotSame(t, first, of(change), "change %d", i)
		require.Same(t, first, of(func(*ir.Program) {}))
	}
}

// TestShapesAreGivenUp checks that shapes without nodes are removed and shapes with nodes are kept.
func TestShapesAreGivenUp(t *testing.T) {
	const signals = 1000
	all, store := shapes{}, store{}
	of := func(k int) *shape {
		p := ir.Program{Signals: signals, Done: []ir.Slot{ir.Signal(k)}}
		for range 1 + k%3 {
			p.Rules = append(p.Rules, ir.Rule{When: []ir.Slot{ir.Signal(k)}, Do: []ir.Action{ir.PutTo(ir.Signal(k), 1)}})
		}
		s, sends, err := all.shapeOf(&p, 0, false)
		require.NoError(t, err)
		if k == 0 {
			store.newNode(s, sends)
		}
		return s
	}
	kept := of(0)
	for range 5 {
		for k := range signals {
			of(k)
			require.Less(t, all.words, 2*leastShapes)
		}
	}
	require.Same(t, kept, of(0))
}
