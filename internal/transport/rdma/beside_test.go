package rdma

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/schedgen/schedgen/runtime/wire"
)

func control(kind wire.FrameKind, seq uint64, body []byte) *wire.Frame {
	return &wire.Frame{Header: wire.Header{Kind: kind, Lane: wire.LaneControl, Seq: seq, Len: len(body)}, Body: body}
}

// Frames about the communicator, with their bodies, reach ranks that are not connected, even from a
// rank that closes at once. They make no queue pair.
func TestGoodbyesMakeNoQueuePairs(t *testing.T) {
	n, trs := apartFrom(t, 5, nil)
	sinks := make([]*ordered, len(trs))
	for rank := range trs {
		sinks[rank] = &ordered{ends: newEnds()}
	}
	unsent := 0
	for to := 1; to < len(trs); to++ {
		unsent += 2
		for i, kind := range []wire.FrameKind{wire.FrameAgree, wire.FrameLeave} {
			f := control(kind, uint64(i+1), make([]byte, 300*(1-i)))
			f.Unsent = &unsent
			trs[0].Put(to, f)
		}
	}
	require.NoError(t, trs[0].Close(true, patience))
	require.Zero(t, unsent)
	for rank := 1; rank < len(trs); rank++ {
		s := sinks[rank]
		until(t, trs[rank:rank+1], s, func() bool { return s.how[0] != 0 })
		require.Equal(t, wire.Closed, s.how[0])
		require.False(t, s.wrong)
		require.EqualValues(t, 2, s.last[0])
		stats := trs[rank].Stats()
		require.Equal(t, []uint64{2, 300}, []uint64{stats.GotFrames, stats.GotBytes})
	}
	stats := trs[0].Stats()
	require.Equal(t, []uint64{8, 1200}, []uint64{stats.PutFrames, stats.PutBytes})
	require.Zero(t, n.Counts().Pairs)
}

// Control frames stay in order whenever two ranks connect, whichever of them asks, and whether the
// frames go over TCP or by the queue pair.
func TestControlInOrderAsRanksConnect(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		steps := rapid.SliceOfN(rapid.IntRange(0, 9), 1, 60).Draw(rt, "steps")
		_, trs := apartFrom(t, 2, nil)
		sinks := []*ordered{{ends: newEnds()}, {ends: newEnds()}}
		var sent [2]uint64
		put := func(who int, kind wire.FrameKind) {
			sent[who]++
			trs[who].Put(1-who, control(kind, sent[who], nil))
		}
		for _, step := range steps {
			switch who := step % 2; step / 2 {
			case 0, 1:
				put(who, wire.FrameLeave)
			case 2:
				put(who, wire.FrameWant) // it connects
			default:
				trs[who].Poll(sinks[who])
			}
		}
		all := func() bool { return sinks[0].last[1] == sent[1] && sinks[1].last[0] == sent[0] }
		for end := time.Now().Add(patience); !all() && time.Now().Before(end); {
			for who, tr := range trs {
				tr.Poll(sinks[who])
			}
		}
		require.True(rt, all(), "%v of %v", sinks, sent)
		for who, tr := range trs {
			require.False(rt, sinks[who].wrong)
			require.Empty(rt, sinks[who].how)
			require.NoError(rt, tr.Close(false, 0))
		}
	})
}
