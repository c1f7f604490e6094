package fragment

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/schedgen/schedgen/runtime/wire"
)

// A queue that is never empty stays as small as its waiting chunks, and in order.
func TestQueueThatIsNeverEmpty(t *testing.T) {
	const waiting, rounds = 100, 10_000
	var q Queue
	var stats wire.Stats
	var unsent int
	push := func(seq int) {
		unsent++
		q.Push(-1, &wire.Frame{Header: wire.Header{Seq: uint64(seq)}, Body: make([]byte, 2), Unsent: &unsent})
	}
	for seq := range waiting {
		push(seq)
	}
	for seq := range rounds {
		require.EqualValues(t, seq, q.Waiting()[0].Head.Seq)
		require.Len(t, q.Waiting(), waiting)
		q.Sent(1, &stats)
		require.EqualValues(t, seq, q.Waiting()[0].Head.Seq, "half of it has gone")
		q.Sent(1, &stats)
		push(seq + waiting)
	}
	require.LessOrEqual(t, cap(q.list), 4*waiting)
	require.EqualValues(t, 2*rounds, stats.McastFrames)
	require.Equal(t, waiting, unsent)
	q.Clear()
	require.Zero(t, unsent)
}
