package stream

import (
	"testing"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"github.com/schedgen/schedgen/internal/clock"
	"github.com/schedgen/schedgen/runtime/wire"
)

// When the system has run out of a resource, new connections wait in its queue for acceptPause, and
// are then accepted.
func TestConnectionsAreAcceptedAfterAPause(t *testing.T) {
	a, b := pair(t)
	var time clock.Manual
	a.clock = &time
	a.listener.rest(unix.EMFILE)
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

// A rank without descriptors for as long as others may take to connect blames itself, and no other
// rank.
func TestRankThatCannotAcceptIsToBlame(t *testing.T) {
	a, b := pair(t)
	var time clock.Manual
	a.clock = &time
	s := &ends{}
	for range a.dialer.timeout / acceptPause {
		a.listener.rest(unix.EMFILE)
		a.Poll(s)
		require.Empty(t, s.of)
		time.Advance(acceptPause)
		a.Poll(s) // listens again
	}
	time.Advance(3 * acceptPause)
	a.listener.rest(unix.EMFILE) // another time
	a.Poll(s)
	require.Empty(t, s.of)
	for range a.dialer.timeout / acceptPause {
		time.Advance(acceptPause)
		a.Poll(s)
		require.Empty(t, s.of)
		a.listener.rest(unix.EMFILE)
	}
	a.Poll(s)
	require.Equal(t, []int{0}, s.of)
	require.ErrorIs(t, s.err, unix.EMFILE)
	b.Put(0, &wire.Frame{Header: wire.Header{Kind: wire.FrameSlot}})
	until(t, b, &log{}, func() bool { return b.peers[0].out[wire.LaneOps].idle() })
}

// A rank that cannot open a connection, because it has no descriptors, blames itself, and has
// descriptors to say so. Open connections still carry frames.
func TestRankThatCannotDialIsToBlame(t *testing.T) {
	for _, errno := range []error{unix.EMFILE, unix.ENFILE, unix.ENOBUFS} {
		a, b := pair(t)
		slot := &wire.Frame{Header: wire.Header{Kind: wire.FrameSlot}}
		a.Put(1, slot)
		until(t, a, &log{}, func() bool { return a.peers[1].out[wire.LaneOps].idle() })
		a.dialer.attempt, _, _ = fails(1<<20, errno)
		require.Len(t, a.spare.fds, 2)
		s := &ends{}
		a.Put(1, &wire.Frame{Header: wire.Header{Kind: wire.FrameAbort, Lane: wire.LaneControl}})
		until(t, a, s, func() bool { return len(s.of) > 0 })
		require.Equal(t, []int{0}, s.of)
		require.ErrorIs(t, s.err, errno)
		require.Empty(t, a.spare.fds)
		require.Negative(t, a.listener.token, "no guest takes them")
		a.Put(1, slot)
		got := &log{}
		for got.frames < 2 {
			a.Poll(s)
			b.Poll(got)
		}
		require.Zero(t, got.how)
		require.Len(t, s.of, 1)
	}
}

// Spare descriptors that cannot be had keep a rank from joining, and nothing stays open.
func TestSpareDescriptors(t *testing.T) {
	var s spare
	require.ErrorIs(t, s.reserve(-1, 2), unix.EBADF)
	require.Empty(t, s.fds)
	a, _ := pair(t)
	for ranks, kept := range map[int]int{2: 2, 3: 4, 4: 4, 5: 6, 4096: 24} {
		require.NoError(t, s.reserve(a.listener.fd, ranks))
		require.Len(t, s.fds, kept, "%d ranks", ranks)
		s.release()
	}
}

// ends is a sink that records the ranks whose connections have ended.
type ends struct {
	wire.Nobody
	of  []int
	err error
}

func (e *ends) Ended(rank int, _ wire.End, err error) { e.of, e.err = append(e.of, rank), err }
