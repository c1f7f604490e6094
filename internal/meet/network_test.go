package meet

import (
	"context"
	"net"
	"net/netip"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	_ "github.com/schedgen/schedgen/internal/test/ballast"
)

// names is a Resolver that knows a host only after a while.
type names struct {
	from  time.Time
	late  time.Duration
	addrs []netip.Addr
	asked atomic.Int64
}

func (n *names) LookupNetIP(_ context.Context, _, host string) ([]netip.Addr, error) {
	n.asked.Add(1)
	if time.Since(n.from) < n.late {
		return nil, &net.DNSError{Err: "no such host", Name: host, IsNotFound: true}
	}
	return n.addrs, nil
}

// named finds the doors of a simulated network by name.
type named struct {
	Network
	names *names
}

func (n *named) Dial(ctx context.Context, addr string) (net.Conn, error) {
	host, port, err := net.SplitHostPort(addr)
	if err != nil {
		return nil, err
	}
	if ip, err := netip.ParseAddr(host); err == nil {
		return n.Network.Dial(ctx, net.JoinHostPort(ip.String(), port))
	}
	ips, err := n.names.LookupNetIP(ctx, "ip", host)
	if err != nil {
		return nil, err
	}
	return n.Network.Dial(ctx, net.JoinHostPort(ips[0].String(), port))
}

// A name that becomes known a minute late keeps no rank from joining.
func TestLateNames(t *testing.T) {
	inHall(t, 12, func(t *testing.T, h *hall) {
		dns := &names{from: time.Now(), late: time.Minute, addrs: []netip.Addr{ipOf(0)}}
		for rank := range h.size {
			h.come(t.Context(), rank, func(c *Config) {
				if rank > 0 {
					c.Coordinator = "hello-0.hello:7777"
					c.Network = &named{c.Network, dns}
				}
			})
		}
		h.met()
		require.GreaterOrEqual(t, h.ends[0], time.Minute)
		require.Less(t, h.ends[0], time.Minute+2*time.Second)
		require.Less(t, dns.asked.Load(), int64(12*5*61), "a name server is asked a few times a second")
	})
}

// An error at the end of the time contains a name that never became known.
func TestNamesThatNeverCome(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		for rank := range 2 {
			_, _, err := Meet(ctx, Config{Rank: rank, Size: 2, Coordinator: "hello-0.hello:7777", Resolver: &names{from: time.Now(), late: time.Hour}})
			require.ErrorIs(t, err, context.DeadlineExceeded)
			require.ErrorContains(t, err, "lookup hello-0.hello: no such host")
		}
	})
}

// An address that never becomes valid is an error at once, at all ranks.
func TestAddressesThatAreNone(t *testing.T) {
	for at, want := range map[string]string{
		"nonsense":   "address nonsense: missing port in address",
		"node0:22x":  "unknown port",
		"node0:8e4":  "unknown port",
		"node0:-1":   "invalid port",
		"node0:0":    "the coordinator's address node0:0 has port 0, where no other rank can find rank 0",
		"node0:7:77": "too many colons",
	} {
		for rank := range 2 {
			ctx, cancel := context.WithTimeout(t.Context(), 10*time.Minute)
			_, _, err := Meet(ctx, Config{Rank: rank, Size: 2, Coordinator: at})
			require.NoError(t, ctx.Err(), at)
			cancel()
			require.ErrorContains(t, err, want, "rank %d at %s", rank, at)
		}
	}
}

// A host name that stands for the loopback interface is refused by all ranks, if they are apart.
func TestLoopbackNames(t *testing.T) {
	for rank := range 2 {
		_, _, err := Meet(t.Context(), Config{Rank: rank, Size: 2, Apart: true, Coordinator: "node0:7", Resolver: &names{addrs: []netip.Addr{netip.MustParseAddr("127.0.1.1")}}})
		require.ErrorContains(t, err, "node0 is 127.0.1.1 on this host", "rank %d", rank)
	}
}

// If no variable says that there are several hosts, the addresses show it.
func TestLoopbackAddressBesideOthers(t *testing.T) {
	door := &net.TCPAddr{IP: net.ParseIP("127.0.1.1"), Port: 7}
	for _, c := range []struct {
		addrs []string
		want  string
	}{
		{[]string{"127.0.1.1:1", "127.0.0.1:2", "[::1]:3"}, ""},
		{[]string{":1", "192.0.2.7:2"}, ""},
		{[]string{":1", "127.0.0.1:2"}, ""},
		{[]string{":1", "127.0.0.1:2", "192.0.2.7:3"}, "rank 1 is at 127.0.0.1:2, which rank 2 at 192.0.2.7:3 cannot reach"},
		{[]string{"127.0.1.1:1", "192.0.2.7:3"}, "where rank 0 waits at 127.0.1.1:7"},
	} {
		err := oneSide(c.addrs, door)
		if c.want == "" {
			require.NoError(t, err, "%v", c.addrs)
		} else {
			require.ErrorContains(t, err, c.want)
		}
	}
}
