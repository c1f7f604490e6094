package lines

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/schedgen/schedgen/internal/ir/windows"
	"github.com/schedgen/schedgen/ir"
	"github.com/schedgen/schedgen/runtime/wire"
	"github.com/schedgen/schedgen/schedule"
)

// linesOf returns the lines of a rank of barrier/hsb, where only the first ranks reach each other.
func linesOf(t *testing.T, rank, ranks, near int, together bool) *Layout {
	spec, err := schedule.New("barrier/hsb", schedule.Params{Ranks: ranks})
	require.NoError(t, err)
	places, ok := windows.Of(rank, ranks, spec.Program)
	require.True(t, ok)
	l := Barrier(rank, func(other int) bool { return other != rank && rank < near && other < near }, together, &places)
	require.True(t, l.Known)
	return &l
}

func awaitedAt(of, line, signal int) Awaited {
	return Awaited{Rank: of, Line: line, Slot: ir.Signal(signal)}
}

// A post goes to the receivers that its sender reaches; these look at its line.
func TestPostsGoToWhomIsReached(t *testing.T) {
	root := linesOf(t, 0, 5, 3, true)
	require.Equal(t, []Post{{Slot: ir.Signal(0), Ranks: []int{1, 2, 3, 4}, Near: []int{1, 2}, Far: []int{3, 4}}}, root.Posts)
	require.Equal(t, []Awaited{awaitedAt(0, 0, 0), awaitedAt(0, 1, 1)}, root.Flags[0])
	require.Equal(t, []Awaited{awaitedAt(0, Signals, 0), awaitedAt(0, Signals+1, 1)}, root.Flags[1])
	for rank := 1; rank < 3; rank++ {
		slave := linesOf(t, rank, 5, 3, true)
		require.Empty(t, slave.Posts)
		require.Equal(t, []Awaited{awaitedAt(0, wire.FlagLines, 0)}, slave.Flags[0])
	}
	require.Empty(t, linesOf(t, 3, 5, 3, true).Flags[0])
	require.Empty(t, linesOf(t, 0, 5, 1, true).Posts)
}

// If ranks cannot read each other's windows, each signal arrives in the window of its receiver.
func TestFlagsApart(t *testing.T) {
	require.Empty(t, linesOf(t, 0, 5, 5, false).Posts)
	require.Equal(t, []Awaited{awaitedAt(3, 0, 0)}, linesOf(t, 3, 5, 5, false).Flags[0])
}

// Signals without a line go by frame.
func TestSignalsWithoutLine(t *testing.T) {
	spec, err := schedule.New("barrier/hsb", schedule.Params{Ranks: 100, FanIn: 99, FanOut: 99})
	require.NoError(t, err)
	places, ok := windows.Of(0, 100, spec.Program)
	require.True(t, ok)
	l := Barrier(0, func(other int) bool { return other != 0 }, true, &places)
	require.Len(t, l.Flags[0], Signals)
	require.Len(t, places.Awaits, 99)
}

// A post is recognized by the first of its puts, and never covers more puts than there are.
func TestPostIsRecognized(t *testing.T) {
	g := Layout{Posts: []Post{{Slot: ir.Signal(0), Ranks: []int{1, 2}, Near: []int{1, 2}}}}
	puts := []ir.Action{ir.PutTo(ir.Signal(0), 1), ir.PutTo(ir.Signal(0), 2), ir.PutTo(ir.Signal(1), 1), ir.PutTo(ir.Signal(1), 2)}
	require.NotNil(t, g.Post(puts))
	require.NotNil(t, g.Post(puts[:2]))
	for _, other := range [][]ir.Action{puts[:1], puts[1:], puts[2:]} {
		require.Nil(t, g.Post(other))
	}
}

// A post never combines the puts of two rules.
func TestChunksStandRuleByRule(t *testing.T) {
	first, second := ir.PutTo(ir.Chunk(0), 1), ir.PutTo(ir.Chunk(0), 2)
	all := func(int) bool { return true }
	apart := Layout{Posts: laid(&ir.Program{Rules: []ir.Rule{{Do: []ir.Action{first}}, {Do: []ir.Action{second}}}}, all)}
	require.Len(t, apart.Posts, 2)
	require.Equal(t, 0, apart.Place([]ir.Action{first}))
	require.Equal(t, 1, apart.Place([]ir.Action{second}))
	one := Layout{Posts: laid(&ir.Program{Rules: []ir.Rule{{Do: []ir.Action{first, second}}}}, all)}
	require.Len(t, one.Posts, 1)
	require.Equal(t, -1, one.Place([]ir.Action{first}))
	require.Equal(t, 0, one.Place([]ir.Action{first, second}))
}
