package stream

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/schedgen/schedgen/runtime/wire"
)

// Taken counts puts of operations, and no other frames.
func TestTaken(t *testing.T) {
	a, b := pair(t)
	s := &log{}
	put := func(lane wire.Lane) (taken uint64) {
		before, frames := a.Taken(1), s.frames
		a.Put(1, &wire.Frame{Header: wire.Header{Kind: wire.FrameSlot, Lane: lane, Len: 100}, Body: make([]byte, 100)})
		until(t, b, s, func() bool { a.Poll(wire.Nobody{}); return s.frames > frames })
		return a.Taken(1) - before
	}
	require.Zero(t, put(wire.LaneControl))
	require.GreaterOrEqual(t, put(wire.LaneOps), uint64(100))
	require.Zero(t, put(wire.LaneControl))
}
