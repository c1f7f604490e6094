package stream

import (
	"net"
	"testing"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"
)

// A rank listens only at the configured address, or at the address from which it has reached the
// coordinator.
func TestListensWhereItWasAsked(t *testing.T) {
	for bind, want := range map[string]string{"": "127.0.0.1", "127.0.0.1": "127.0.0.1", "127.0.0.2": "127.0.0.2", "::1": "::1"} {
		a, b := pair(t, func(o *Options) { o.Bind = bind })
		for _, tr := range []*Transport{a, b} {
			sa, err := unix.Getsockname(tr.listener.fd)
			require.NoError(t, err)
			var ip net.IP
			port := 0
			switch sa := sa.(type) {
			case *unix.SockaddrInet4:
				ip, port = sa.Addr[:], sa.Port
			case *unix.SockaddrInet6:
				ip, port = sa.Addr[:], sa.Port
			}
			require.Equal(t, want, ip.String(), "bind %q", bind)
			if want != "127.0.0.1" {
				c, err := net.DialTCP("tcp", nil, &net.TCPAddr{IP: net.IPv4(127, 0, 0, 1), Port: port})
				if err == nil {
					c.Close()
				}
				require.ErrorIs(t, err, unix.ECONNREFUSED)
			}
		}
		requireWorks(t, a, b)
	}
}
