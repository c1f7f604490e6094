package core

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/schedgen/schedgen/ir"
	"github.com/schedgen/schedgen/ir/windows"
	"github.com/schedgen/schedgen/runtime/machine"
	"github.com/schedgen/schedgen/runtime/wire"
	"github.com/schedgen/schedgen/schedule"
)

// linesOf returns the lines of a rank of barrier/hsb, where only the first ranks reach each other.
func linesOf(t *testing.T, rank, ranks, near int, together bool) *lines {
	spec, err := schedule.New("barrier/hsb", schedule.Params{Ranks: ranks})
	require.NoError(t, err)
	h, p := spec.Header(), spec.Program(rank)
	program, err := machine.Compile(&h, &p)
	require.NoError(t, err)
	plan := NewPlan(&h, program, spec.Program(0), 0)
	places, ok := windows.Of(rank, ranks, spec.Program)
	require.True(t, ok)
	plan.Flags(rank, func(other int) bool { return other != rank && rank < near && other < near }, together, &places)
	require.True(t, plan.lines.known)
	return &plan.lines
}

func awaitedAt(of, line, signal int) Awaited {
	return Awaited{Rank: of, Line: line, slot: ir.Signal(signal)}
}

// A post goes to the receivers that its sender reaches; those look at its line.
func TestPostsGoToWhomIsReached(t *testing.T) {
	root := linesOf(t, 0, 5, 3, true)
	require.Equal(t, []post{{slot: ir.Signal(0), ranks: []int{1, 2, 3, 4}, near: []int{1, 2}, far: []int{3, 4}}}, root.posts)
	require.Equal(t, []Awaited{awaitedAt(0, 0, 0), awaitedAt(0, 1, 1)}, root.awaited[0])
	require.Equal(t, []Awaited{awaitedAt(0, flagSlots, 0), awaitedAt(0, flagSlots+1, 1)}, root.awaited[1])
	for rank := 1; rank < 3; rank++ {
		slave := linesOf(t, rank, 5, 3, true)
		require.Empty(t, slave.posts)
		require.Equal(t, []Awaited{awaitedAt(0, wire.FlagLines, 0)}, slave.awaited[0])
	}
	require.Empty(t, linesOf(t, 3, 5, 3, true).awaited[0])
	require.Empty(t, linesOf(t, 0, 5, 1, true).posts)
}

// If ranks cannot read each other's windows, each signal arrives in the window of its receiver.
func TestFlagsApart(t *testing.T) {
	require.Empty(t, linesOf(t, 0, 5, 5, false).posts)
	require.Equal(t, []Awaited{awaitedAt(3, 0, 0)}, linesOf(t, 3, 5, 5, false).awaited[0])
}

// Signals without a line go by frame.
func TestSignalsWithoutLine(t *testing.T) {
	spec, err := schedule.New("barrier/hsb", schedule.Params{Ranks: 100, FanIn: 99, FanOut: 99})
	require.NoError(t, err)
	places, ok := windows.Of(0, 100, spec.Program)
	require.True(t, ok)
	plan := planOf(t, "barrier/hsb", schedule.Params{Ranks: 100, FanIn: 99, FanOut: 99}, 0)
	plan.Flags(0, func(other int) bool { return other != 0 }, true, &places)
	require.Len(t, plan.lines.awaited[0], flagSlots)
	require.Len(t, places.Awaits, 99)
	require.False(t, plan.isQuick())
}

// A post is recognized by the first of its puts, and never covers more puts than there are.
func TestPostIsRecognized(t *testing.T) {
	g := lines{posts: []post{{slot: ir.Signal(0), ranks: []int{1, 2}, near: []int{1, 2}}}}
	puts := []ir.Action{ir.PutTo(ir.Signal(0), 1), ir.PutTo(ir.Signal(0), 2), ir.PutTo(ir.Signal(1), 1), ir.PutTo(ir.Signal(1), 2)}
	require.NotNil(t, g.post(puts))
	require.NotNil(t, g.post(puts[:2]))
	for _, other := range [][]ir.Action{puts[:1], puts[1:], puts[2:]} {
		require.Nil(t, g.post(other))
	}
}

// A post never combines the puts of two rules.
func TestChunksStandRuleByRule(t *testing.T) {
	first, second := ir.PutTo(ir.Chunk(0), 1), ir.PutTo(ir.Chunk(0), 2)
	all := func(int) bool { return true }
	apart := lines{posts: laid(&ir.Program{Rules: []ir.Rule{{Do: []ir.Action{first}}, {Do: []ir.Action{second}}}}, all)}
	require.Len(t, apart.posts, 2)
	require.Equal(t, 0, apart.place([]ir.Action{first}))
	require.Equal(t, 1, apart.place([]ir.Action{second}))
	one := lines{posts: laid(&ir.Program{Rules: []ir.Rule{{Do: []ir.Action{first, second}}}}, all)}
	require.Len(t, one.posts, 1)
	require.Equal(t, -1, one.place([]ir.Action{first}))
	require.Equal(t, 0, one.place([]ir.Action{first, second}))
}
