package lines

import (
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/schedgen/schedgen/internal/deep"
	"github.com/schedgen/schedgen/ir"
	"github.com/schedgen/schedgen/runtime/wire"
)

// barrier has one flag of rank 1 in each turn.
var barrier = Layout{Known: true, Flags: [Turns][]Awaited{
	{{Rank: 0, Line: OfSignal(0, ir.Signal(3)), Slot: ir.Signal(3)}},
	{{Rank: 0, Line: OfSignal(1, ir.Signal(3)), Slot: ir.Signal(3)}},
}}

// bcast has two chunks of rank 2, and takes three lines.
var bcast = Layout{Known: true, Shelved: 3, Chunks: []Awaited{{Rank: 2, Slot: ir.Chunk(0)}, {Rank: 2, Line: 1, Slot: ir.Chunk(1)}}}

// Barriers take turns, and the rules of a barrier begin when the previous barrier has ended.
func TestBarriersTakeTurns(t *testing.T) {
	var l Ledger
	a, behind := l.BeginBarrier()
	require.False(t, behind)
	l.Enter(5, a, 77, &barrier)
	require.Equal(t, []Awaited{{Rank: 0, Line: Signals + 3, Seq: 5, Mark: 77, Slot: ir.Signal(3)}}, l.Awaits().Flags)
	require.Zero(t, l.Awaits().Over)
	b, behind := l.BeginBarrier()
	require.True(t, behind)
	require.Equal(t, a+1, b)
	require.False(t, l.Leave(6), "its rules have not begun")
	require.True(t, l.Leave(5))
	require.False(t, l.Leave(5))
	l.Enter(7, b, 78, &barrier)
	require.Len(t, l.Awaits().Flags, 2)
	require.Equal(t, 3, l.Awaits().Flags[1].Line)
	require.EqualValues(t, 5, l.Awaits().Over, "the flags of that barrier have been seen")
	at := l.Take(0)
	require.EqualValues(t, 5, at.Seq)
	require.False(t, at.IsChunk())
	require.Len(t, l.Awaits().Flags, 1)
	l.End(7)
	require.Empty(t, l.Awaits().Flags)
	l.End(7)
}

// Operations with chunks take their lines one after the other, round the window.
func TestChunksTakeLines(t *testing.T) {
	var l Ledger
	for n := range 2 * wire.ChunkLines {
		require.EqualValues(t, 3*n+1, l.NextTurn(false))
		turn := l.BeginChunks(uint64(n), 9, &bcast)
		require.EqualValues(t, 3*n+1, turn)
		flags := l.Awaits().Flags
		require.Equal(t, []Awaited{
			{Rank: 2, Line: wire.ChunkLine + 3*n%wire.ChunkLines, Seq: uint64(n), Mark: 9, Slot: ir.Chunk(0)},
			{Rank: 2, Line: wire.ChunkLine + (3*n+1)%wire.ChunkLines, Seq: uint64(n), Mark: 9, Slot: ir.Chunk(1)},
		}, flags)
		require.True(t, flags[0].IsChunk())
		l.End(uint64(n))
	}
}

// The end of an operation leaves the flags of others, which may end later.
func TestEndLeavesOthers(t *testing.T) {
	var l Ledger
	for seq := range uint64(3) {
		l.BeginChunks(seq, 9, &bcast)
	}
	l.End(1)
	var left []uint64
	for _, at := range l.Awaits().Flags {
		left = append(left, at.Seq)
	}
	require.Equal(t, []uint64{0, 0, 2, 2}, left)
}

// The others are told what has ended each time that a quarter of the lines have been used.
func TestShouldTell(t *testing.T) {
	var l Ledger
	used := 0
	for n := range 1000 {
		l.BeginChunks(uint64(n), 9, &bcast)
		used += 3
		if l.ShouldTell() {
			require.GreaterOrEqual(t, used, wire.ChunkLines/4)
			require.Less(t, used, wire.ChunkLines/4+3)
			used = 0
		}
	}
}

// A chunk is lent until all have collected it, or the operations are abandoned.
func TestLent(t *testing.T) {
	var l Ledger
	for n := range 4 {
		l.Lend(10+n, uint64(n))
	}
	require.EqualValues(t, 1, l.Collected(1))
	require.Equal(t, []Lent{{10, 0}, {12, 2}, {13, 3}}, l.Lent())
	l.BeginChunks(9, 9, &bcast)
	require.Equal(t, []Lent{{10, 0}, {12, 2}, {13, 3}}, l.Abandon())
	require.Empty(t, l.Lent())
	require.Empty(t, l.Awaits().Flags)
}

// A rank that goes through operations at once is in the same state as one that begins and ends
// them.
func TestThrough(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var a, b Ledger
		for n := range rapid.Uint64Range(1, 20).Draw(t, "operations") {
			seq, isBarrier := n+1, rapid.Bool().Draw(t, "barrier")
			turn := a.NextTurn(isBarrier)
			require.Equal(t, turn, b.NextTurn(isBarrier))
			if isBarrier {
				own, behind := a.BeginBarrier()
				require.Equal(t, turn, own)
				require.False(t, behind)
				a.Enter(seq, own, 1, &barrier)
				b.Through(seq, true, &barrier)
			} else {
				require.Equal(t, turn, a.BeginChunks(seq, 1, &bcast))
				b.Through(seq, false, &bcast)
			}
			a.End(seq)
			a.Leave(seq)
			require.Equal(t, a.ShouldTell(), b.ShouldTell())
			require.Equal(t, deep.Append(nil, nil, &a), deep.Append(nil, nil, &b))
			require.Equal(t, a.Awaits().Over, b.Awaits().Over)
		}
	})
}
