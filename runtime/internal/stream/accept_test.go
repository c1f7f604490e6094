package stream

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/schedgen/schedgen/runtime/clock"
	"github.com/schedgen/schedgen/runtime/wire"
)

// When the system has run out of something, new connections wait where they are
// for acceptPause, and are accepted then.
func TestConnectionsAreAcceptedAfterAPause(t *testing.T) {
	a, b := pair(t)
	var time clock.Manual
	a.clock = &time
	a.listener.rest()
	require.Negative(t, a.listener.token)
	b.Put(0, &wire.Frame{Header: wire.Header{Kind: wire.FrameSlot}})
	s := &log{}
	until(t, b, s, func() bool { return b.peers[0].out[wire.LaneOps].idle() })
	time.Advance(acceptPause - 1)
	a.Poll(s)
	require.Empty(t, a.listener.guests)
	require.Zero(t, s.frames)
	time.Advance(1)
	a.Wait(-1) // must not wait: there is news
	until(t, a, s, func() bool { return s.frames == 1 })
	require.GreaterOrEqual(t, a.listener.token, int32(0))
}
