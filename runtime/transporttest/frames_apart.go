package transporttest

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/schedgen/schedgen/runtime/wire"
)

// testHoldApart: a frame that is held holds back what is behind it in its lane of
// its communicator, and nothing of another communicator.
func testHoldApart(t *testing.T, make Make) {
	const frames = 20
	n := connect(t, make, 2)
	held := true
	n.sinks[1].verdict = func(h *wire.Header) wire.Verdict {
		if held && h.Comm == 1 {
			return wire.Hold
		}
		return wire.Accept
	}
	for i := range frames {
		for _, comm := range []uint8{1, 0, 255} {
			f := frame(0, 1, i, wire.LaneOps)
			f.Comm = comm
			n.put(0, 1, f)
		}
	}
	n.until(func() bool { return n.count() == 2*frames }, "the frames of two communicators have arrived")
	held = false
	n.until(func() bool { return n.count() == 3*frames }, "all frames have arrived")
	next := map[uint8]int{}
	for _, got := range n.sinks[1].got {
		want := frame(0, 1, next[got.Comm], wire.LaneOps)
		want.Comm, want.From = got.Comm, 0
		require.Equal(t, want.Header, got.Header)
		require.Equal(t, want.Body, got.body)
		next[got.Comm]++
	}
	require.Empty(t, n.sinks[1].twice)
}

// testAbandonApart: what is queued of one communicator is forgotten, and of no other.
func testAbandonApart(t *testing.T, make Make) {
	const frames = 100
	n := connect(t, make, 2)
	n.sinks[1].verdict = func(h *wire.Header) wire.Verdict {
		if h.Comm == 1 {
			return wire.Hold
		}
		return wire.Accept
	}
	unsent := map[uint8]*int{1: new(int), 2: new(int)}
	for i := range frames {
		for comm, count := range unsent {
			f := frame(0, 1, i, wire.LaneOps)
			f.Comm, f.Unsent = comm, count
			*count++
			n.put(0, 1, f)
		}
	}
	n.ranks[0].Abandon(1)
	require.Zero(t, *unsent[1])
	n.until(func() bool { return *unsent[2] == 0 && n.count() == frames }, "the other communicator's frames have arrived")
}
