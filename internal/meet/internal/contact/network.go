package contact

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/netip"
	"strings"
	"sync/atomic"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"github.com/schedgen/schedgen/internal/clock"
	"github.com/schedgen/schedgen/internal/notice"
	"github.com/schedgen/schedgen/internal/transport/tcpopt"
)

const (
	// FirstPause and LastPause are the shortest and the longest pause before another attempt.
	FirstPause = 5 * time.Millisecond
	LastPause  = 250 * time.Millisecond
	// DialLimit is the greatest time for one attempt to connect.
	DialLimit = 3 * time.Second
)

// Network is the way to other processes: the system's network, or a simulated one.
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

// TCP is the system's network.
type TCP struct {
	Clock    clock.Clock // for the intervals between attempts
	Resolver Resolver
	Apart    bool          // the ranks are on several hosts, so a loopback address leads nowhere
	Limit    time.Duration // for one attempt to connect; the system keeps it
	Log      *slog.Logger  // gets what Listen waits for; may be nil
	Who      string        // for the log, as in "rank 1 of 4"
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

// resolve returns the addresses of addr. The error is final if addr is no "host:port". A host may
// become known later, but a port never does.
func (t *TCP) resolve(ctx context.Context, addr string) ([]string, error) {
	host, port, err := net.SplitHostPort(addr)
	if err == nil {
		_, err = net.LookupPort("tcp", port)
	}
	if err != nil {
		return nil, &FinalError{err}
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
		if !t.Apart || !ip.Unmap().IsLoopback() {
			addrs = append(addrs, net.JoinHostPort(ip.Unmap().String(), port))
		}
	}
	if len(addrs) == 0 {
		return nil, &LoopbackError{host, ips[0].Unmap()}
	}
	return addrs, nil
}

// lookUp returns the addresses of a host, which is a name or a comma-separated list of addresses.
func (t *TCP) lookUp(ctx context.Context, host string) ([]netip.Addr, error) {
	if ips := AddressesIn(host); ips != nil {
		return ips, nil
	}
	ips, err := t.Resolver.LookupNetIP(ctx, "ip", host)
	if err == nil && len(ips) == 0 {
		err = &net.DNSError{Err: "no address", Name: host, IsNotFound: true}
	}
	return ips, err
}

// AddressesIn returns the addresses in a comma-separated list, or nil if host is no such list.
func AddressesIn(host string) (ips []netip.Addr) {
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
func (t *TCP) Listen(ctx context.Context, addr string) (net.Listener, error) {
	lc := net.ListenConfig{Control: begin}
	var trouble notice.Trouble
	defer notice.Wait(t.Clock, t.Log, func() string {
		return fmt.Sprintf("%s waits: it cannot listen at %s yet: %v", t.Who, addr, &trouble)
	})()
	for pause := FirstPause; ; pause = min(2*pause, LastPause) {
		addrs, err := t.resolve(ctx, addr)
		for _, a := range addrs {
			var l net.Listener
			if l, err = lc.Listen(ctx, "tcp", a); err == nil {
				return l, nil
			}
		}
		if IsFinal(err) || !errors.As(err, new(*net.DNSError)) {
			return nil, err
		}
		trouble.Set(err.Error())
		if late := clock.Sleep(ctx, t.Clock, pause); late != nil {
			return nil, fmt.Errorf("%w (%w)", late, err)
		}
	}
}

// Dial connects to addr. Each of its attempts begins at another address of the host, since an
// address may lead nowhere.
func (t *TCP) Dial(ctx context.Context, addr string) (net.Conn, error) {
	addrs, err := t.resolve(ctx, addr)
	if err != nil {
		return nil, err
	}
	var begun atomic.Int64
	return race(ctx, t.Clock, func(ctx context.Context) (net.Conn, error) {
		first := int(begun.Add(1)-1) % len(addrs)
		var errs []error
		for i := range addrs {
			conn, err := t.attempt(ctx, addrs[(first+i)%len(addrs)], t.Limit/time.Duration(len(addrs)))
			if err == nil {
				return conn, nil
			}
			errs = append(errs, err)
		}
		return nil, errs[0]
	})
}

// The system resends a lost first packet after a second (RFC 6298, section 2), and then after two,
// which is long compared to the rest of the conversation. So if an attempt has no answer for a
// while, another one starts in parallel, and the first success counts.
const (
	firstPatience = 40 * time.Millisecond // doubles each time
	maxAttempts   = 7
)

// begin prepares a socket before it connects or listens. While ranks meet, each connection carries
// little; its later user decides how it continues ([tcpopt.Usual]).
func begin(_, _ string, c syscall.RawConn) error {
	return c.Control(func(fd uintptr) { tcpopt.Begin(int(fd)) })
}

// attempt connects once. It refuses connections to itself: if no process listens at a local port in
// the range for outgoing connections, the system can give a dial that very port, and the dial
// connects to itself.
func (t *TCP) attempt(ctx context.Context, addr string, limit time.Duration) (net.Conn, error) {
	d := net.Dialer{Timeout: limit, Control: begin}
	conn, err := d.DialContext(ctx, "tcp", addr)
	if err != nil {
		return nil, err
	}
	if conn.LocalAddr().String() == conn.RemoteAddr().String() {
		conn.Close()
		return nil, errors.New("nobody listens there")
	}
	return conn, nil
}

type outcome struct {
	conn net.Conn
	err  error
}

// race returns the first outcome of several attempts. Each begins when the one before has taken too
// long. An error is an outcome, too.
func race(ctx context.Context, c clock.Clock, attempt func(context.Context) (net.Conn, error)) (net.Conn, error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	outcomes, late, over := make(chan outcome), make(chan struct{}, 1), make(chan struct{})
	defer close(over)
	begin := func() {
		conn, err := attempt(ctx)
		select {
		case outcomes <- outcome{conn, err}:
		case <-over: // another attempt was first
			if err == nil {
				conn.Close()
			}
		}
	}
	patience := firstPatience
	timer := c.AfterFunc(patience, func() { late <- struct{}{} })
	defer timer.Stop()
	go begin()
	for attempts := 1; ; {
		select {
		case o := <-outcomes:
			return o.conn, o.err
		case <-late:
			if attempts++; attempts < maxAttempts {
				patience *= 2
				timer.Reset(patience)
			}
			go begin()
		}
	}
}

// FinalError is an error after which another attempt to reach the host is useless: the host has
// gone too late to come again, sends nonsense, or does not have the same key; or its address is no
// "host:port".
type FinalError struct{ Err error }

func (e *FinalError) Error() string { return e.Err.Error() }

func (e *FinalError) Unwrap() error { return e.Err }

// IsFinal reports whether another attempt is useless: err is a FinalError or a LoopbackError, or a
// dial has failed for a lasting reason of this host.
func IsFinal(err error) bool {
	return errors.As(err, new(*FinalError)) || errors.As(err, new(*LoopbackError)) || hopeless(err)
}

// hopeless reports whether a dial has failed for a lasting reason of this host: it is out of
// descriptors, or its loopback interface is down.
func hopeless(err error) bool {
	if errors.Is(err, unix.EMFILE) || errors.Is(err, unix.ENFILE) {
		return true
	}
	var op *net.OpError
	if !errors.As(err, &op) {
		return false
	}
	to, ok := op.Addr.(*net.TCPAddr)
	return ok && to.IP.IsLoopback() && (errors.Is(err, unix.ENETUNREACH) || errors.Is(err, unix.EADDRNOTAVAIL))
}
