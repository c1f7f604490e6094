package contact

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"os"
	"testing"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"github.com/schedgen/schedgen/internal/clock"
)

// names is a Resolver that finds these addresses for every host.
type names []netip.Addr

func (n names) LookupNetIP(context.Context, string, string) ([]netip.Addr, error) { return n, nil }

// A host name that stands for the loopback interface leads nowhere from other hosts: it is refused,
// and the error contains the name, unless all ranks are on one host, or the name has another
// address too.
func TestLoopbackNames(t *testing.T) {
	here, away := netip.MustParseAddr("127.0.1.1"), netip.MustParseAddr("192.0.2.7")
	for _, c := range []struct {
		addr  string
		apart bool
		found []netip.Addr
		want  []string
	}{
		{"node0:7", false, []netip.Addr{here}, []string{"127.0.1.1:7"}},
		{"node0:7", true, []netip.Addr{here, away}, []string{"192.0.2.7:7"}},
		{"node0:7", true, []netip.Addr{away}, []string{"192.0.2.7:7"}},
		{"node0:7", true, []netip.Addr{here}, nil},
		{"node0:7", true, []netip.Addr{netip.IPv6Loopback()}, nil},
		{"127.0.0.1:7", true, nil, nil},
		{"[::ffff:127.0.0.1]:7", true, nil, nil},
		{"192.0.2.7:7", true, nil, []string{"192.0.2.7:7"}},
		{":7", true, nil, []string{":7"}},
		{"[192.0.2.7,fd00::7,127.0.0.1]:7", true, nil, []string{"192.0.2.7:7", "[fd00::7]:7"}},
		{"192.0.2.7,10.0.0.7:7", false, nil, []string{"192.0.2.7:7", "10.0.0.7:7"}},
	} {
		n := TCP{Clock: clock.System{}, Resolver: names(c.found), Apart: c.apart}
		got, err := n.resolve(t.Context(), c.addr)
		require.Equal(t, c.want, got, c.addr)
		if c.want == nil {
			require.ErrorContains(t, err, "on this host, which the ranks of other hosts cannot reach")
			host, _, _ := net.SplitHostPort(c.addr)
			require.ErrorContains(t, err, host+" is ")
		}
	}
}

// The attempts of a dial begin at different addresses of a host: an address that leads nowhere does
// not keep the others from being tried.
func TestDialTriesAllAddresses(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	defer l.Close()
	_, port, err := net.SplitHostPort(l.Addr().String())
	require.NoError(t, err)
	n := TCP{Clock: clock.System{}, Limit: DialLimit,
		Resolver: names{netip.MustParseAddr("127.0.0.2"), netip.MustParseAddr("127.0.0.1")}}
	conn, err := n.Dial(t.Context(), net.JoinHostPort("node0", port)) // nothing listens at 127.0.0.2
	require.NoError(t, err)
	require.NoError(t, conn.Close())
	n.Resolver = names(nil)
	_, err = n.Dial(t.Context(), "node0:7")
	require.True(t, errors.As(err, new(*net.DNSError)))
}

// A problem of this host alone is an error at once.
func TestHopelessDials(t *testing.T) {
	dial := func(ip string, errno error) error {
		return &net.OpError{Op: "dial", Addr: &net.TCPAddr{IP: net.ParseIP(ip), Port: 7}, Err: os.NewSyscallError("connect", errno)}
	}
	for _, c := range []struct {
		err  error
		want bool
	}{
		{dial("127.0.0.1", unix.ENETUNREACH), true},
		{dial("::1", unix.EADDRNOTAVAIL), true},
		{dial("192.0.2.1", unix.ENETUNREACH), false},
		{dial("127.0.0.1", unix.ECONNREFUSED), false},
		{dial("192.0.2.1", unix.EMFILE), true},
		{os.NewSyscallError("socket", unix.ENFILE), true},
		{errors.New("nobody listens there"), false},
	} {
		require.Equal(t, c.want, hopeless(fmt.Errorf("reach: %w", c.err)), "%v", c.err)
	}
}
