package stream

import (
	"net"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/schedgen/schedgen/internal/clock"
	"github.com/schedgen/schedgen/runtime/wire"
)

// A silent connection has limited time, and disturbs no other.
func TestSilentStrangersHaveABoundedTime(t *testing.T) {
	a, b := pair(t)
	var now clock.Manual
	a.clock = &now
	conns := []net.Conn{knock(t, a), knock(t, a, greets(a, greeting{id: a.ID(), rank: 1, size: 2})[:20])}
	s := &log{}
	until(t, a, s, func() bool { return len(a.listener.guests) == 2 })
	now.Advance(greetTime / 2)
	conns = append(conns, knock(t, a))
	until(t, a, s, func() bool { return len(a.listener.guests) == 3 })
	now.Advance(greetTime/2 - 1)
	a.Poll(s)
	require.Zero(t, a.Stats().Rejected)
	now.Advance(1)
	a.Wait(-1) // must not wait: there is news
	a.Poll(s)
	require.EqualValues(t, 2, a.Stats().Rejected)
	now.Advance(greetTime / 2)
	a.Poll(s)
	require.EqualValues(t, 3, a.Stats().Rejected)
	require.Empty(t, a.listener.guests)
	for _, c := range conns {
		require.NoError(t, c.SetDeadline(time.Now().Add(patience)))
		_, err := c.Read(make([]byte, 1))
		require.Error(t, err)
		require.NotErrorIs(t, err, net.ErrClosed)
	}
	requireWorks(t, a, b)
}

// However many strangers come, only some are handled in a span of time. Ranks connect in the next
// span, and open connections are not affected.
func TestStrangersTakeABoundedShare(t *testing.T) {
	a, b := pair(t)
	requireWorks(t, a, b)
	var now clock.Manual
	a.clock = &now
	garbage := make([]byte, greetingLen)
	s := &log{}
	for range 3 {
		before := a.Stats().Rejected
		for range strangersASpan + 40 {
			knock(t, a, garbage)
		}
		until(t, a, s, func() bool { return a.listener.token < 0 })
		for range 100 {
			a.Poll(s)
		}
		seen := a.Stats().Rejected - before
		require.GreaterOrEqual(t, seen, uint64(strangersASpan))
		require.LessOrEqual(t, seen, uint64(strangersASpan+maxAccepts))
		requireWorks(t, a, b) // over the existing connection
		now.Advance(strangerSpan)
	}
	b.Put(0, &wire.Frame{Header: wire.Header{Kind: wire.FrameProbe, Lane: wire.LaneControl}}) // over another connection
	until(t, a, s, func() bool { b.Poll(wire.Nobody{}); now.Advance(strangerSpan); return s.frames == 1 })
}
