package stream

import (
	"context"
	"net"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"github.com/schedgen/schedgen/internal/clock"
	"github.com/schedgen/schedgen/runtime/wire"
)

// A rank may close while it still connects for its last put; its other connections must not end
// before.
func TestCloseWhileConnecting(t *testing.T) {
	a, b := pair(t)
	s := &log{}
	put := func(lane wire.Lane, kind wire.FrameKind) {
		a.Put(1, &wire.Frame{Header: wire.Header{Kind: kind, Lane: lane}})
	}
	put(wire.LaneOps, wire.FrameSlot)
	until(t, b, s, func() bool { a.Poll(wire.Nobody{}); return s.frames == 1 })

	slow, err := a.newOutbound(&a.peers[1], int(wire.LaneControl))
	require.NoError(t, err)
	put(wire.LaneControl, wire.FrameLeave)
	closed := make(chan error, 1)
	go func() { closed <- a.Close(true, patience) }()
	for end := time.Now().Add(20 * time.Millisecond); s.how == 0 && time.Now().Before(end); b.Wait(time.Millisecond) {
		b.Poll(s) // it does not leave yet, but might
	}
	a.dialer.dial(slow.conn, a.Wake)
	until(t, b, s, func() bool { return s.how != 0 })
	require.Equal(t, wire.Closed, s.how)
	require.Equal(t, 2, s.frames, "the last put has come before")
	require.NoError(t, <-closed)
	require.NoError(t, b.Close(true, 0))
}

// A rank that connects to a rank that is leaving learns that it has left, whether the connection is
// still accepted or not.
func TestConnectToLeavingRank(t *testing.T) {
	slot := &wire.Frame{Header: wire.Header{Kind: wire.FrameSlot}}
	for _, name := range []string{"taken", "not taken", "not taken, and written to"} {
		t.Run(name, func(t *testing.T) {
			taken := name == "taken"
			a, b := pair(t)
			s := &log{}
			b.parting = parting{true, true}
			a.Put(1, slot)
			until(t, a, s, func() bool { return a.peers[1].out[wire.LaneOps].fd >= 0 })
			if !taken {
				require.NoError(t, b.Close(false, 0))
			}
			if strings.HasSuffix(name, "written to") {
				a.Put(1, slot)
			}
			until(t, a, s, func() bool { b.Poll(wire.Nobody{}); return s.how != 0 })
			if taken {
				require.Equal(t, wire.Closed, s.how)
			} else {
				require.Equal(t, wire.Refused, s.how)
			}
		})
	}
}

// A peer that leaves between the connection and the greeting has left, and has not died.
func TestLeavingBeforeTheGreeting(t *testing.T) {
	a, b := pair(t)
	attempt := a.dialer.attempt
	a.dialer.attempt = func(ctx context.Context, c clock.Clock, addr string, limit time.Duration) (net.Conn, error) {
		conn, err := attempt(ctx, c, addr, limit)
		if err == nil {
			b.release()
			err = reset(conn)
		}
		return conn, err
	}
	s := &log{}
	a.Put(1, &wire.Frame{Header: wire.Header{Kind: wire.FrameSlot}})
	until(t, a, s, func() bool { return s.how != 0 })
	require.Equal(t, wire.Refused, s.how)
}

// reset waits until the peer has reset a connection.
func reset(conn net.Conn) error {
	raw, err := conn.(*net.TCPConn).SyscallConn()
	if err != nil {
		return err
	}
	err = unix.EINTR
	for err == unix.EINTR {
		failed := raw.Control(func(fd uintptr) {
			_, err = unix.Poll([]unix.PollFd{{Fd: int32(fd)}}, int(patience.Milliseconds()))
		})
		if failed != nil {
			return failed
		}
	}
	return err
}

// If a rank's connection is reset because its peer has left without ever seeing it, the rank reads
// on another connection that the peer has left in good order.
func TestResetAfterGoodbye(t *testing.T) {
	slot := &wire.Frame{Header: wire.Header{Kind: wire.FrameSlot}}
	a, b := pair(t)
	s := &log{}
	b.Put(0, slot)
	until(t, a, s, func() bool { b.Poll(wire.Nobody{}); return s.frames == 1 })
	a.Put(1, slot)
	until(t, a, s, func() bool { return a.peers[1].out[wire.LaneOps].fd >= 0 })
	b.parting = parting{true, true}
	b.leave(b.peers[0].out[wire.LaneOps])
	b.flushAll(wire.Nobody{})
	b.release() // a's connection was not accepted: the system resets it
	a.Put(1, slot)
	until(t, a, s, func() bool { return s.how != 0 })
	require.Equal(t, wire.Closed, s.how)
}
