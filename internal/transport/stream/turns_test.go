package stream

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/schedgen/schedgen/runtime/wire"
)

// A communicator's number is reused more often than a greeting can count.
func TestMoreTurnsThanAGreetingCounts(t *testing.T) {
	for name, edits := range map[string][]func(*Options){"no key": nil, "signed": {signed}} {
		t.Run(name, func(t *testing.T) {
			a, b := pair(t, edits...)
			s := &log{}
			for i := range 300 {
				b.Put(0, &wire.Frame{Header: wire.Header{Kind: wire.FrameSlot, Comm: 3}})
				until(t, a, s, func() bool { b.Poll(wire.Nobody{}); return s.frames == i+1 })
				b.Forget(3)
				until(t, b, wire.Nobody{}, func() bool { return b.peers[0].outbound(laneIndex(wire.LaneOps, 3)) == nil })
			}
			require.NoError(t, s.lost)
			require.EqualValues(t, 300, b.peers[0].outTurn[laneIndex(wire.LaneOps, 3)])
		})
	}
}
