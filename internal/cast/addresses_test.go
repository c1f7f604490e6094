package cast

import (
	"context"
	"net"
	"net/netip"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/schedgen/schedgen/internal/test/porttest"
)

// A host first tries the address that most likely works, and tries no useless ones.
func TestAddressesOfSender(t *testing.T) {
	var own []netip.Addr
	for _, a := range []string{"127.0.0.1", "::1", "10.0.0.1", "172.17.0.1", "2001:db8::1", "fe80::1"} {
		own = append(own, netip.MustParseAddr(a))
	}
	for _, c := range []struct {
		what, listener, seen string
		direct               bool
		want                 []string
	}{
		{"the address that ssh has used", "[::]:7", "172.17.0.1", true, []string{"172.17.0.1:7", "10.0.0.1:7", "[2001:db8::1]:7"}},
		{"of the other family", "[::]:7", "2001:db8::1", true, []string{"[2001:db8::1]:7", "10.0.0.1:7", "172.17.0.1:7"}},
		{"as a mapped one", "[::]:7", "::ffff:10.0.0.1", true, []string{"10.0.0.1:7", "172.17.0.1:7", "[2001:db8::1]:7"}},
		{"on this host", "[::]:7", "::1", true, []string{"[::1]:7", "[2001:db8::1]:7", "10.0.0.1:7", "172.17.0.1:7"}},
		{"through a jump host", "[::]:7", "192.0.2.9", false, []string{"10.0.0.1:7", "172.17.0.1:7", "[2001:db8::1]:7", "192.0.2.9:7"}},
		{"through a link", "[::]:7", "fe80::9%eth0", false, []string{"[2001:db8::1]:7", "10.0.0.1:7", "172.17.0.1:7"}},
		{"nobody knows", "[::]:7", "", false, []string{"10.0.0.1:7", "172.17.0.1:7", "[2001:db8::1]:7"}},
		{"without IPv6", "0.0.0.0:7", "2001:db8::1", true, []string{"10.0.0.1:7", "172.17.0.1:7"}},
		{"as --listen says", "10.0.0.1:7", "172.17.0.1", true, []string{"10.0.0.1:7"}},
	} {
		a := &addresses{netip.MustParseAddrPort(c.listener), own}
		_, direct := a.direct(c.seen)
		require.Equal(t, c.direct, direct, c.what)
		require.Equal(t, c.want, a.list(c.seen), c.what)
	}
	many := addresses{listener: netip.MustParseAddrPort("[::]:7")}
	for i := range 100 {
		many.own = append(many.own, netip.AddrFrom4([4]byte{10, 0, 0, byte(i)}))
	}
	require.Len(t, many.list("10.0.0.50"), maxAddresses)
	require.Equal(t, "10.0.0.50:7", many.list("10.0.0.50")[0])
}

// reach returns the first address with a listener. If there is none, the error names each address.
func TestReach(t *testing.T) {
	t.Parallel()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	defer l.Close()
	gone := porttest.Hold(t) // nobody listens there
	at, err := reach(t.Context(), []string{gone, l.Addr().String()})
	require.NoError(t, err)
	require.Equal(t, l.Addr().String(), at)
	_, err = reach(t.Context(), []string{gone})
	require.ErrorContains(t, err, "this host cannot reach the sender: dial tcp "+gone+": connect: connection refused")
	_, err = reach(t.Context(), nil)
	require.EqualError(t, err, "the sender has no address for other hosts")
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	_, err = reach(ctx, []string{l.Addr().String(), gone})
	require.ErrorIs(t, err, context.Canceled)
}
