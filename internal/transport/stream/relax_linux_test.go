package stream

import (
	"net"
	"testing"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"
)

func TestRelaxLetsTheSystemConfirmLater(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	defer l.Close()
	out, err := net.Dial("tcp", l.Addr().String())
	require.NoError(t, err)
	defer out.Close()
	in, err := l.Accept()
	require.NoError(t, err)
	fd, err := takeConn(in)
	require.NoError(t, err)
	defer closeFD(fd)

	at := func() int {
		v, err := unix.GetsockoptInt(fd, unix.IPPROTO_TCP, unix.TCP_QUICKACK)
		require.NoError(t, err)
		return v
	}
	require.Equal(t, 1, at())
	relax(fd)
	require.Zero(t, at())
}

func TestHostsOf(t *testing.T) {
	require.Equal(t, []int{0, 0, 2, 2, 4, 5, 0, 5},
		hostsOf([]string{"127.0.0.1:1", "127.0.0.1:2", "[::1]:1", "[::1]:2", "10.77.0.1:1", "10.77.0.2:1", "127.0.0.1:9", "10.77.0.2:7"}))
}
