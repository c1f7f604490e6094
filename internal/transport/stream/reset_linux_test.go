package stream

import (
	"net"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/schedgen/schedgen/runtime/wire"
)

// A connection that is not read because another connection precedes it, and that the peer has reset
// before its system had everything, does not keep a rank from closing.
func TestResetConnectionDoesNotDelayClose(t *testing.T) {
	a, _ := pair(t)
	c := knock(t, a, greets(a, greeting{id: a.ID(), rank: 1, size: 2, turn: 1}))
	require.NoError(t, c.(*net.TCPConn).SetReadBuffer(1))
	p := &a.peers[1]
	until(t, a, wire.Nobody{}, func() bool { return len(p.conns) == 1 })
	require.Equal(t, waiting, p.conns[0].in.phase)
	for fd := p.conns[0].fd; unacked(fd) == inFlight(fd); { // until the peer takes no more
		a.Put(1, &wire.Frame{Header: wire.Header{Kind: wire.FrameSlot}, Body: make([]byte, 1<<12)})
		until(t, a, wire.Nobody{}, p.conns[0].out.idle)
	}
	require.NoError(t, c.(*net.TCPConn).SetLinger(0))
	require.NoError(t, c.Close())
	conn := p.conns[0]
	until(t, a, wire.Nobody{}, func() bool { return conn.unconfirmed() == 0 })
	require.True(t, conn.closed)
}
