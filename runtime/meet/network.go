package meet

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/netip"
	"strings"
	"sync/atomic"
	"time"

	"github.com/schedgen/schedgen/runtime/clock"
	"github.com/schedgen/schedgen/runtime/internal/notice"
	"github.com/schedgen/schedgen/runtime/internal/tcpopt"
)

// Network is a rank's way to the other ranks: the system's network, or a simulated one.
type Network interface {
	// Dial connects to "host:port" once; the host name may become known later.
	Dial(ctx context.Context, addr string) (net.Conn, error)
	// Listen accepts connections at "host:port".
	Listen(ctx context.Context, addr string) (net.Listener, error)
}

// Resolver finds the addresses of a host; see [net.Resolver].
type Resolver interface {
	LookupNetIP(ctx context.Context, network, host string) ([]netip.Addr, error)
}

// tcpNetwork is the system's network.
type tcpNetwork struct {
	clock    clock.Clock
	resolver Resolver
	apart    bool          // the ranks are on several hosts
	limit    time.Duration // for one attempt
	log      *slog.Logger
	who      string // for the log
}

// LoopbackError is the error of a host name that stands for the loopback interface, in a job of
// several hosts.
type LoopbackError struct {
	Host string
	Addr netip.Addr
}

func (e *LoopbackError) Error() string {
	if e.Host == e.Addr.String() {
		return fmt.Sprintf("%s is the loopback interface on this host, which the ranks of other hosts cannot reach", e.Host)
	}
	return fmt.Sprintf("%s is %v on this host, which the ranks of other hosts cannot reach", e.Host, e.Addr)
}

// resolve returns the addresses of addr.
func (t *tcpNetwork) resolve(ctx context.Context, addr string) ([]string, error) {
	host, port, err := net.SplitHostPort(addr)
	if err != nil {
		return nil, err
	}
	if host == "" {
		return []string{addr}, nil
	}
	ips, err := t.lookUp(ctx, host)
	if err != nil {
		return nil, err
	}
	var addrs []string
	for _, ip := range ips {
		if !t.apart || !ip.Unmap().IsLoopback() {
			addrs = append(addrs, net.JoinHostPort(ip.Unmap().String(), port))
		}
	}
	if len(addrs) == 0 {
		return nil, &LoopbackError{host, ips[0].Unmap()}
	}
	return addrs, nil
}

// lookUp returns the addresses of a host, which is a name or a comma-separated list of addresses.
func (t *tcpNetwork) lookUp(ctx context.Context, host string) ([]netip.Addr, error) {
	if ips := addressesIn(host); ips != nil {
		return ips, nil
	}
	ips, err := t.resolver.LookupNetIP(ctx, "ip", host)
	if err == nil && len(ips) == 0 {
		err = &net.DNSError{Err: "no address", Name: host, IsNotFound: true}
	}
	return ips, err
}

// addressesIn returns the addresses in a list, or nil if host is no such list.
func addressesIn(host string) (ips []netip.Addr) {
	for text := range strings.SplitSeq(host, ",") {
		ip, err := netip.ParseAddr(text)
		if err != nil {
			return nil
		}
		ips = append(ips, ip)
	}
	return ips
}

// Listen listens at the first address that belongs to this host. It waits until the host name is
// known.
func (t *tcpNetwork) Listen(ctx context.Context, addr string) (net.Listener, error) {
	lc := net.ListenConfig{Control: begin}
	var trouble notice.Trouble
	defer notice.Wait(t.clock, t.log, func() string {
		return fmt.Sprintf("%s waits: it cannot listen at %s yet: %v", t.who, addr, &trouble)
	})()
	for pause := firstPause; ; pause = min(2*pause, lastPause) {
		addrs, err := t.resolve(ctx, addr)
		for _, a := range addrs {
			var l net.Listener
			if l, err = lc.Listen(ctx, "tcp", a); err == nil {
				return l, nil
			}
		}
		if !errors.As(err, new(*net.DNSError)) {
			return nil, err
		}
		trouble.Set(err.Error())
		if late := clock.Sleep(ctx, t.clock, pause); late != nil {
			return nil, fmt.Errorf("%w (%w)", late, err)
		}
	}
}

// Dial begins each of its attempts at another address, since one of them may lead nowhere.
func (t *tcpNetwork) Dial(ctx context.Context, addr string) (net.Conn, error) {
	addrs, err := t.resolve(ctx, addr)
	if err != nil {
		return nil, err
	}
	var begun atomic.Int64
	return race(ctx, t.clock, func(ctx context.Context) (net.Conn, error) {
		first := int(begun.Add(1)-1) % len(addrs)
		var errs []error
		for i := range addrs {
			conn, err := t.attempt(ctx, addrs[(first+i)%len(addrs)], t.limit/time.Duration(len(addrs)))
			if err == nil {
				return conn, nil
			}
			errs = append(errs, err)
		}
		return nil, errs[0]
	})
}

// After a loss, a connection could be silent for up to minutes, and no message follows the last
// one: see tcpopt.
//
// A host that vanishes says nothing. While ranks meet, most connections are silent, so systems
// shall ask each other whether they are there, and end connections with those that are not.
const (
	aliveIdle     = 5 * time.Second
	aliveInterval = 2 * time.Second
	aliveCount    = 5
)

// watchOver makes the system notice that the peer has vanished.
func watchOver(conn net.Conn) {
	if c := tcpOf(conn); c != nil {
		tcpopt.Of(c, tcpopt.Hurry)
		// If this fails, the connection is broken, or the system has its own times.
		_ = c.SetKeepAliveConfig(net.KeepAliveConfig{Enable: true, Idle: aliveIdle, Interval: aliveInterval, Count: aliveCount})
	}
}

// tcpOf returns the system's connection, or nil in tests without one.
func tcpOf(conn net.Conn) *net.TCPConn {
	if b, ok := conn.(*begun); ok {
		conn = b.Conn
	}
	c, _ := conn.(*net.TCPConn)
	return c
}
