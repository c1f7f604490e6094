package sim

import (
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/schedgen/schedgen/ir"
	"github.com/schedgen/schedgen/runtime/machine"
	"github.com/schedgen/schedgen/schedule"
)

// drawProgram draws a program of a rank that is not the root: a program of an algorithm, or one
// with random rules.
func drawProgram(t *rapid.T) (ir.Header, ir.Program) {
	if rapid.Bool().Draw(t, "algorithm") {
		a := rapid.SampledFrom(schedule.Algorithms()).Draw(t, "name")
		p := schedule.Params{Ranks: rapid.IntRange(2, 70).Draw(t, "ranks")}
		if a.Collective == "bcast" {
			p.Chunks = rapid.IntRange(1, 5).Draw(t, "chunks")
		}
		s, err := schedule.New(a.Name, p)
		require.NoError(t, err)
		return s.Header(), s.Program(rapid.IntRange(1, p.Ranks-1).Draw(t, "rank"))
	}
	h := ir.Header{Collective: "bcast", Algorithm: "any", Ranks: 12, Chunks: rapid.IntRange(1, 4).Draw(t, "chunks")}
	if rapid.Bool().Draw(t, "blocks") {
		h.Collective, h.Chunks = "scatter", 12
	}
	p := ir.Program{Rank: 1, Signals: rapid.IntRange(1, 6).Draw(t, "signals")}
	slot := rapid.Custom(func(t *rapid.T) ir.Slot {
		return slotOfNumber(rapid.IntRange(0, h.Chunks+p.Signals).Draw(t, "slot"), h.Chunks, p.Signals)
	})
	all := rapid.SliceOfNDistinct(slot, 1, -1, rapid.ID[ir.Slot]).Draw(t, "slots")
	p.Done = all
	for range rapid.IntRange(0, 8).Draw(t, "rules") {
		r := ir.Rule{When: all[:rapid.IntRange(1, len(all)).Draw(t, "waits")], Do: []ir.Action{ir.PutTo(ir.Chunk(0), 2+len(p.Rules))}}
		if rapid.IntRange(0, 2).Draw(t, "own") == 0 {
			r.When = rapid.SliceOfNDistinct(slot, 1, -1, rapid.ID[ir.Slot]).Draw(t, "when")
		}
		if rapid.IntRange(0, 3).Draw(t, "repair") == 0 {
			r.Unless, r.After = rapid.SampledFrom(p.Done).Draw(t, "unless"), 1
		}
		p.Rules = append(p.Rules, r)
	}
	return h, p
}

// slotOfNumber returns the slot with a number: enter, the chunks, the signals and the partial
// results.
func slotOfNumber(i, chunks, signals int) ir.Slot {
	switch {
	case i == 0:
		return ir.Enter
	case i <= chunks:
		return ir.Chunk(i - 1)
	case i <= chunks+signals:
		return ir.Signal(i - 1 - chunks)
	}
	return ir.Value(i - 1 - chunks - signals)
}

// TestNodesDoWhatMachinesDo checks that a node and the machine of the runtime do the same at each
// step, in whatever order slots are set. All programs drawn before have left their shapes. If there
// are several blocks, a node numbers the chunks itself and has no slots for chunks that change
// nothing.
func TestNodesDoWhatMachinesDo(t *testing.T) {
	store, plain, dense := store{}, shapes{}, shapes{dense: true}
	rapid.Check(t, func(t *rapid.T) {
		h, p := drawProgram(t)
		plan, err := machine.Compile(&h, &p)
		require.NoError(t, err)
		var engine machine.Machine
		engine.Reset(plan)
		shapes := &plain
		if h.Blocks() > 1 {
			shapes = &dense
		}
		shape, sends, err := shapes.shapeOf(&p, h.Chunks, true)
		require.NoError(t, err)
		number := store.newNode(shape, sends)
		n := store.at(number)
		defer store.drop(number)
		copy(n.words, shape.begin)
		fired := n.begin(nil)
		require.Empty(t, fired)
		order := rapid.Permutation(numbers(1+h.Chunks+p.Signals+p.Values)).Draw(t, "order")
		for _, slot := range order {
			do, arm := engine.Set(slotOfNumber(slot, h.Chunks, p.Signals))
			number := int32(slot)
			if shapes.dense {
				number = n.local(number, h.Chunks)
			}
			if fired = fired[:0]; number >= 0 {
				fired = n.assign(fired, number)
			}
			var acts []ir.Action
			armed := 0
			for _, i := range fired {
				w := &shape.rules[i]
				if w.unless >= 0 {
					armed++
					continue
				}
				for k := w.do; k < w.end; k++ {
					acts = append(acts, actionsOf(n, k)...)
				}
			}
			require.Len(t, arm, armed)
			require.Equal(t, len(do), len(acts), "%v", slotOfNumber(slot, h.Chunks, p.Signals))
			for i := range do {
				require.Equal(t, do[i], acts[i])
			}
		}
		require.Zero(t, n.left)
	})
}

// actionsOf returns the actions of send k of a node: a fold, a message or a multicast.
func actionsOf(n *node, k int32) (acts []ir.Action) {
	slot, to := n.send(k)
	list, as, several := n.message(slot)
	switch {
	case to == toFold:
		for i, operand := range list[1:] {
			acts = append(acts, ir.Action{Op: ir.Fold, Slot: ir.Slot(operand), As: ir.Slot(list[0]), Joins: i > 0})
		}
		return acts
	case !several:
		return []ir.Action{{Op: opOf(to), Slot: slot, To: max(to, 0)}}
	}
	for i, slot := range list {
		a := ir.Action{Op: ir.Put, Slot: ir.Slot(slot), To: to, Joins: i > 0}
		if as != nil && ir.Slot(as[i]).Kind() == ir.KindValue { // a chunk keeps its name
			a.As = ir.Slot(as[i])
		}
		acts = append(acts, a)
	}
	return acts
}

func numbers(n int) []int {
	all := make([]int, n)
	for i := range all {
		all[i] = i
	}
	return all
}
