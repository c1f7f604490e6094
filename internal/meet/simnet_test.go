package meet

import (
	"context"
	"fmt"
	"io"
	"net"
	"net/netip"
	"os"
	"sync"
	"syscall"
	"time"

	"github.com/schedgen/schedgen/internal/meet/internal/contact"
)

// simnet is a network in the virtual time of a testing/synctest bubble. Every host has one link to
// a switch that is never full: each message waits for the earlier ones, is sent at rate, and
// arrives after latency.
type simnet struct {
	latency time.Duration
	rate    float64 // bytes a second; 0: no limit

	mu    sync.Mutex
	doors map[string]*simListener
}

func newSimnet(latency time.Duration, rate float64) *simnet {
	return &simnet{latency: latency, rate: rate, doors: map[string]*simListener{}}
}

// simhost is the process of a host: a Network for one rank.
type simhost struct {
	net  *simnet
	ip   netip.Addr
	free time.Time // when its link has sent everything
	port int
	dead bool
	mine []*simconn

	accepted int // connections
	sent     int // writes
}

func ipOf(rank int) netip.Addr {
	return netip.AddrFrom4([4]byte{10, byte(rank >> 16), byte(rank >> 8), byte(rank)})
}

func (s *simnet) host(rank int) *simhost { return &simhost{net: s, ip: ipOf(rank), port: 40000} }

// kill ends the process. The system closes what it had open, unless the host has vanished as well;
// then the other systems notice.
func (h *simhost) kill(vanished bool) {
	h.net.mu.Lock()
	defer h.net.mu.Unlock()
	h.dead = true
	for at, l := range h.net.doors {
		if l.host == h {
			delete(h.net.doors, at)
		}
	}
	for _, c := range h.mine {
		c.in.end(net.ErrClosed, 0)
		if vanished {
			c.out.end(os.NewSyscallError("read", syscall.ETIMEDOUT), contact.AliveIdle+contact.AliveCount*contact.AliveInterval)
		} else {
			c.out.end(io.EOF, h.net.latency)
		}
		c.out.cut()
	}
}

type simListener struct {
	host *simhost
	addr *net.TCPAddr
	came chan net.Conn
	shut chan struct{}
	once sync.Once
}

func (h *simhost) Listen(_ context.Context, addr string) (net.Listener, error) {
	h.net.mu.Lock()
	defer h.net.mu.Unlock()
	if h.dead {
		return nil, net.ErrClosed
	}
	_, port, err := net.SplitHostPort(addr)
	if err != nil {
		return nil, err
	}
	if port == "0" {
		h.port++
		port = fmt.Sprint(h.port)
	}
	ap, err := netip.ParseAddrPort(net.JoinHostPort(h.ip.String(), port))
	if err != nil {
		return nil, err
	}
	if h.net.doors[ap.String()] != nil {
		return nil, os.NewSyscallError("bind", syscall.EADDRINUSE)
	}
	l := &simListener{host: h, addr: net.TCPAddrFromAddrPort(ap), came: make(chan net.Conn, 1<<15), shut: make(chan struct{})}
	h.net.doors[ap.String()] = l
	return l, nil
}

func (l *simListener) Accept() (net.Conn, error) {
	select {
	case conn := <-l.came:
		return conn, nil
	case <-l.shut:
		return nil, net.ErrClosed
	}
}

func (l *simListener) Close() error {
	l.once.Do(func() {
		close(l.shut)
		l.host.net.mu.Lock()
		defer l.host.net.mu.Unlock()
		if l.host.net.doors[l.addr.String()] == l {
			delete(l.host.net.doors, l.addr.String())
		}
	})
	return nil
}

func (l *simListener) Addr() net.Addr { return l.addr }

func (h *simhost) Dial(ctx context.Context, addr string) (net.Conn, error) {
	timer := time.NewTimer(2 * h.net.latency)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	h.net.mu.Lock()
	defer h.net.mu.Unlock()
	l := h.net.doors[addr]
	if l == nil || h.dead {
		return nil, &net.OpError{Op: "dial", Err: os.NewSyscallError("connect", syscall.ECONNREFUSED)}
	}
	h.port++
	from := &net.TCPAddr{IP: h.ip.AsSlice(), Port: h.port}
	there, back := newWay(), newWay()
	mine := &simconn{host: h, in: back, out: there, local: from, remote: l.addr}
	its := &simconn{host: l.host, in: there, out: back, local: l.addr, remote: from}
	h.mine, l.host.mine = append(h.mine, mine), append(l.host.mine, its)
	l.host.accepted++
	l.came <- its
	return mine, nil
}

// way is one direction of a connection.
type way struct {
	mu       sync.Mutex
	parts    []part
	deadline time.Time
	ended    error // after all parts are read
	endedAt  time.Time
	lost     bool // nothing more arrives
	fresh    chan struct{}
}

type part struct {
	at time.Time
	b  []byte
}

func newWay() *way { return &way{fresh: make(chan struct{}, 1)} }

func (w *way) tell() {
	select {
	case w.fresh <- struct{}{}:
	default:
	}
}

func (w *way) end(why error, after time.Duration) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.ended == nil && !w.lost {
		w.ended, w.endedAt = why, time.Now().Add(after)
		if why == net.ErrClosed {
			w.parts = nil
		}
	}
	w.tell()
}

func (w *way) cut() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.lost = true
}

// put delivers p, unless the reader has closed.
func (w *way) put(p part) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.ended != nil {
		return os.NewSyscallError("write", syscall.EPIPE)
	}
	if !w.lost {
		w.parts = append(w.parts, p)
	}
	w.tell()
	return nil
}

// next returns the bytes that can be read now, or how long to wait; a negative wait means unknown.
func (w *way) next(b []byte) (n int, wait time.Duration, err error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	now := time.Now()
	if !w.deadline.IsZero() && !now.Before(w.deadline) {
		return 0, 0, os.ErrDeadlineExceeded
	}
	wait = -1
	switch {
	case len(w.parts) > 0:
		p := &w.parts[0]
		if wait = p.at.Sub(now); wait <= 0 {
			n = copy(b, p.b)
			if p.b = p.b[n:]; len(p.b) == 0 {
				w.parts = w.parts[1:]
			}
			return n, 0, nil
		}
	case w.ended != nil:
		if wait = w.endedAt.Sub(now); wait <= 0 {
			return 0, 0, w.ended
		}
	}
	if left := w.deadline.Sub(now); !w.deadline.IsZero() && (wait < 0 || left < wait) {
		wait = left
	}
	return 0, wait, nil
}

type simconn struct {
	host          *simhost
	in, out       *way
	local, remote *net.TCPAddr
}

func (c *simconn) Read(b []byte) (int, error) {
	for {
		n, wait, err := c.in.next(b)
		switch {
		case n > 0 || err != nil:
			return n, err
		case wait < 0:
			<-c.in.fresh
		default:
			timer := time.NewTimer(wait)
			select {
			case <-timer.C:
			case <-c.in.fresh:
			}
			timer.Stop()
		}
	}
}

// Write keeps b, which this package's writers do not change afterwards. It returns when the link
// has sent b.
func (c *simconn) Write(b []byte) (int, error) {
	s := c.host.net
	s.mu.Lock()
	now := time.Now()
	if c.host.free.Before(now) {
		c.host.free = now
	}
	if s.rate > 0 {
		c.host.free = c.host.free.Add(time.Duration(float64(len(b)) / s.rate * float64(time.Second)))
	}
	sent, dead := c.host.free, c.host.dead
	c.host.sent++
	s.mu.Unlock()
	if dead {
		return 0, net.ErrClosed
	}
	if err := c.out.put(part{sent.Add(s.latency), b}); err != nil {
		return 0, err
	}
	time.Sleep(sent.Sub(now))
	return len(b), nil
}

func (c *simconn) CloseWrite() error {
	c.out.end(io.EOF, c.host.net.latency)
	return nil
}

func (c *simconn) Close() error {
	c.in.end(net.ErrClosed, 0)
	return c.CloseWrite()
}

func (c *simconn) SetReadDeadline(t time.Time) error {
	c.in.mu.Lock()
	defer c.in.mu.Unlock()
	c.in.deadline = t
	c.in.tell()
	return nil
}

func (c *simconn) SetDeadline(t time.Time) error    { return c.SetReadDeadline(t) }
func (c *simconn) SetWriteDeadline(time.Time) error { return nil } // it never blocks
func (c *simconn) LocalAddr() net.Addr              { return c.local }
func (c *simconn) RemoteAddr() net.Addr             { return c.remote }
