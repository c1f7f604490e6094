package datagram

import (
	"errors"
	"net/netip"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/schedgen/schedgen/internal/transport/fragment"
)

func TestCardRoundTrip(t *testing.T) {
	for _, c := range []card{
		{4, 1372, 1 << 20, netip.MustParseAddrPort("10.1.2.3:4"), netip.MustParseAddrPort("10.1.2.3:5"), netip.MustParseAddrPort("239.1.2.3:17000")},
		{6, 65000, 1 << 20, netip.MustParseAddrPort("[fd00::1]:4"), netip.MustParseAddrPort("[fd00::1]:5"), netip.MustParseAddrPort("[ff15::9]:17000")},
	} {
		got, err := decodeCard(c.encode())
		require.NoError(t, err)
		require.Equal(t, c, got)
	}
}

func TestCardsThatDoNotFit(t *testing.T) {
	base := func() []card {
		return []card{
			{4, 1000, 1 << 20, netip.MustParseAddrPort("10.0.0.1:1"), netip.MustParseAddrPort("10.0.0.1:2"), netip.MustParseAddrPort("239.0.0.9:17000")},
			{4, 900, 1 << 20, netip.MustParseAddrPort("10.0.0.2:1"), netip.MustParseAddrPort("10.0.0.2:2"), netip.AddrPortFrom(netip.IPv4Unspecified(), 0)},
		}
	}
	try := func(edit func([]card)) (*deck, error) {
		cards := base()
		edit(cards)
		return gather([][]byte{cards[0].encode(), cards[1].encode()})
	}
	d, err := try(func([]card) {})
	require.NoError(t, err)
	require.Equal(t, 900, d.payload)
	require.Equal(t, 1<<20, d.room)
	require.Equal(t, "239.0.0.9:17000", d.group.String())
	for want, edit := range map[string]func([]card){
		"rank 1 multicasts in IPv6, rank 0 in IPv4": func(c []card) { c[1].family = 6 },
		"only one is a loopback":                    func(c []card) { c[1].sender = netip.MustParseAddrPort("127.0.0.1:5") },
		"rank 1: its datagrams have 3 bytes":        func(c []card) { c[1].payload = 3 },
		"which is no multicast group":               func(c []card) { c[0].group = netip.MustParseAddrPort("10.0.0.1:5") },
	} {
		_, err := try(edit)
		require.ErrorContains(t, err, want)
	}
	_, err = gather([][]byte{base()[0].encode(), nil})
	require.ErrorContains(t, err, "rank 1: it does not use this version of transport mcast")
}

func TestDrawGroup(t *testing.T) {
	ones := func(b []byte) (int, error) {
		for i := range b {
			b[i] = 0xFF
		}
		return len(b), nil
	}
	g, err := drawGroup(readFunc(ones), 6)
	require.NoError(t, err)
	require.Equal(t, "[ff15:ffff:ffff:ffff:ffff:ffff:ffff:ffff]:32767", g.String())
	g, err = drawGroup(readFunc(ones), 4)
	require.NoError(t, err)
	require.Equal(t, "239.255.255.255:32767", g.String())
	_, err = drawGroup(readFunc(func([]byte) (int, error) { return 0, errDice }), 4)
	require.ErrorIs(t, err, errDice)
}

var errDice = errors.New("no dice")

type readFunc func([]byte) (int, error)

func (f readFunc) Read(b []byte) (int, error) { return f(b) }

func TestPayloadFor(t *testing.T) {
	for _, c := range []struct{ mtu, family, want int }{
		{1500, 4, 1500 - 28 - fragment.HeadLen}, {1500, 6, 1500 - 48 - fragment.HeadLen},
		{65536, 4, 65507 - fragment.HeadLen}, {1 << 20, 6, 65487 - fragment.HeadLen}, {140, 4, 64},
	} {
		n, err := payloadFor(c.mtu, c.family, fragment.HeadLen)
		require.NoError(t, err)
		require.Equal(t, c.want, n)
	}
	_, err := payloadFor(139, 4, fragment.HeadLen)
	require.ErrorContains(t, err, "MTU of 139")
}

// Rank 0 takes the configured group, if the ranks multicast over its family.
func TestChooseGroup(t *testing.T) {
	four, six := netip.MustParseAddrPort("239.1.2.3:5000"), netip.MustParseAddrPort("[ff15::1]:5000")
	for _, c := range []struct {
		group  netip.AddrPort
		family int
		want   string
	}{
		{four, 4, ""}, {six, 6, ""},
		{four, 6, "group 239.1.2.3:5000: the ranks multicast over IPv6"},
		{six, 4, "group [ff15::1]:5000: the ranks multicast over IPv4"},
	} {
		got, err := chooseGroup(&Config{Group: c.group}, c.family)
		if c.want != "" {
			require.EqualError(t, err, c.want)
			continue
		}
		require.NoError(t, err)
		require.Equal(t, c.group, got)
	}
	got, err := chooseGroup(&Config{}, 4)
	require.NoError(t, err)
	require.True(t, got.Addr().IsMulticast())
	for _, bad := range []string{"10.0.0.1:5", "239.1.2.3:0"} {
		c := Config{Group: netip.MustParseAddrPort(bad)}
		require.EqualError(t, c.check(), "group "+bad+" is not a multicast address and a port")
	}
}
