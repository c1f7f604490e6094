package porttest

import (
	"net"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestHold checks that a server can listen at a held port, again and again.
func TestHold(t *testing.T) {
	addr := Hold(t)
	for range 2 {
		l, err := net.Listen("tcp", addr)
		require.NoError(t, err)
		conn, err := net.Dial("tcp", addr)
		require.NoError(t, err)
		require.NoError(t, conn.Close())
		_, err = net.Listen("tcp", addr)
		require.Error(t, err, "somebody listens there already")
		require.NoError(t, l.Close())
	}
}

// TestHeldPortIsGivenToNobody checks that the system gives a held port to no socket that asks for
// any port. A listener that asks for all existing ports gets each port but the held ones.
func TestHeldPortIsGivenToNobody(t *testing.T) {
	held := map[string]bool{}
	for range 200 {
		addr := Hold(t)
		require.False(t, held[addr])
		held[addr] = true
	}
	for range 1000 {
		l, err := net.Listen("tcp", "127.0.0.1:0")
		require.NoError(t, err)
		require.False(t, held[l.Addr().String()], "%v is held", l.Addr())
		defer l.Close()
	}
}
