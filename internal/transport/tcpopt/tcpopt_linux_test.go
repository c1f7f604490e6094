package tcpopt_test

import (
	"net"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"github.com/schedgen/schedgen/internal/transport/tcpopt"
)

// connected returns a connection to a silent port.
func connected(t *testing.T) *net.TCPConn {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	t.Cleanup(func() { l.Close() })
	conn, err := net.Dial("tcp", l.Addr().String())
	require.NoError(t, err)
	t.Cleanup(func() { conn.Close() })
	return conn.(*net.TCPConn)
}

func TestHurry(t *testing.T) {
	conn := connected(t)
	tcpopt.Of(conn, tcpopt.Hurry)
	raw, err := conn.SyscallConn()
	require.NoError(t, err)
	get := func(opt int) (v int, err error) {
		require.NoError(t, raw.Control(func(fd uintptr) { v, err = unix.GetsockoptInt(int(fd), unix.IPPROTO_TCP, opt) }))
		return v, err
	}
	thin, err := get(unix.TCP_THIN_LINEAR_TIMEOUTS)
	require.NoError(t, err)
	require.Equal(t, 1, thin)
	if most, err := get(unix.TCP_RTO_MAX_MS); err == nil { // since Linux 6.15
		require.Equal(t, 1000, most)
	}
	require.NoError(t, raw.Control(func(fd uintptr) { tcpopt.Bear(int(fd), 90*time.Second) }))
	bears, err := get(unix.TCP_USER_TIMEOUT)
	require.NoError(t, err)
	require.Equal(t, 90000, bears)
	require.NoError(t, conn.Close())
	tcpopt.Of(conn, tcpopt.Hurry) // does no harm
}

// Sent works for a connection, and for nothing else.
func TestSent(t *testing.T) {
	var again int
	var rate float64
	tcpopt.Of(connected(t), func(fd int) { again, rate = tcpopt.Sent(fd) })
	require.Zero(t, again)
	require.Greater(t, rate, 1e6, "ten segments on the loopback interface")
	again, rate = tcpopt.Sent(-1)
	require.Zero(t, again)
	require.Zero(t, rate)
}

// A connection keeps its congestion control unless it is BBR. Usual restores BBR if it is the
// system's.
func TestUnpaced(t *testing.T) {
	fd, err := unix.Socket(unix.AF_INET, unix.SOCK_STREAM, 0)
	require.NoError(t, err)
	defer unix.Close(fd)
	control := func() string {
		name, err := unix.GetsockoptString(fd, unix.IPPROTO_TCP, unix.TCP_CONGESTION)
		require.NoError(t, err)
		return name
	}
	usual := control()
	for name, want := range map[string]string{"reno": "reno", "cubic": "cubic", "bbr": "reno"} {
		if unix.SetsockoptString(fd, unix.IPPROTO_TCP, unix.TCP_CONGESTION, name) != nil {
			continue // not on this system, or not for every user
		}
		tcpopt.Unpaced(fd)
		require.Equal(t, want, control())
		tcpopt.Usual(fd)
		if want == "reno" && usual == "bbr" {
			want = "bbr"
		}
		require.Equal(t, want, control())
	}
	tcpopt.Unpaced(-1) // does no harm
	tcpopt.Usual(-1)
}

// After Begin, a connection uses short times from its first round trip on.
func TestBegin(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	defer l.Close()
	d := net.Dialer{Control: func(_, _ string, c syscall.RawConn) error {
		return c.Control(func(fd uintptr) { tcpopt.Begin(int(fd)) })
	}}
	conn, err := d.DialContext(t.Context(), "tcp", l.Addr().String())
	require.NoError(t, err)
	defer conn.Close()
	tcpopt.Of(conn.(*net.TCPConn), func(fd int) {
		if _, err := unix.GetsockoptInt(fd, unix.IPPROTO_TCP, unix.TCP_RTO_MIN_US); err != nil {
			return // this system has no such option
		}
		info, err := unix.GetsockoptTCPInfo(fd, unix.IPPROTO_TCP, unix.TCP_INFO)
		require.NoError(t, err)
		require.Less(t, info.Rto, uint32(100_000), "microseconds")
	})
}
