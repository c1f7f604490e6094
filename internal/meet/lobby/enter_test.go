package lobby

import (
	"net"
	"testing"

	"github.com/stretchr/testify/require"
)

// A guest may have said hello when the lobby is closed, and not wait yet. It gets the same reason as
// the guests that wait. Otherwise it would wait for ever, and Close would wait for it.
func TestEntersAfterClose(t *testing.T) {
	l, err := net.ListenTCP("tcp", &net.TCPAddr{IP: net.IPv4(127, 0, 0, 1)})
	require.NoError(t, err)
	defer l.Close()
	h, err := Open(l, Config{})
	require.NoError(t, err)
	require.Empty(t, h.enter(new(visitor)))
	h.leave(h.waiting[0], false)
	h.Close("the cast is over")
	require.Equal(t, "the cast is over", h.enter(new(visitor)))
	require.Empty(t, h.waiting)
}
