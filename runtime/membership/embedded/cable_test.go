package embedded_test

import (
	"context"
	"errors"
	"fmt"
	"net"
	"sync"
	"time"

	"golang.org/x/sys/unix"

	"github.com/schedgen/schedgen/internal/clock"
)

// cable is a network in memory, for virtual time. It can be cut in two, between the first members
// and the rest.
type cable struct {
	mu    sync.Mutex
	cut   int // members below this are on one side; 0: not cut
	plugs []*plug
	open  []span
	delay func() time.Duration // delay of a dial; nil: none
}

// plug is a member's end of the cable: its listener, and its dialer.
type plug struct {
	cable *cable
	rank  int
	came  chan net.Conn
	shut  chan struct{}
	once  sync.Once
}

// span is a connection between members a and b.
type span struct {
	conn net.Conn
	a, b int
}

var errCut = errors.New("network is cut")

func (c *cable) listen() *plug {
	c.mu.Lock()
	defer c.mu.Unlock()
	p := &plug{cable: c, rank: len(c.plugs), came: make(chan net.Conn), shut: make(chan struct{})}
	c.plugs = append(c.plugs, p)
	return p
}

// find returns the member that answers at addr, unless it is beyond the cut.
func (c *cable) find(from int, addr string) (*plug, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, p := range c.plugs {
		if p.Addr().String() != addr {
			continue
		}
		if c.between(from, p.rank) {
			return nil, errCut
		}
		return p, nil
	}
	return nil, unix.ECONNREFUSED
}

func (c *cable) between(a, b int) bool { return c.cut > 0 && (a < c.cut) != (b < c.cut) }

func (c *cable) cutAt(rank int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.cut = rank
	for _, s := range c.open {
		if c.between(s.a, s.b) {
			s.conn.Close()
		}
	}
}

func (p *plug) dial(ctx context.Context, _, addr string) (net.Conn, error) {
	if p.cable.delay != nil {
		if err := clock.Sleep(ctx, clock.OrSystem(nil), p.cable.delay()); err != nil {
			return nil, err
		}
	}
	other, err := p.cable.find(p.rank, addr)
	if err != nil {
		return nil, err
	}
	mine, its := net.Pipe()
	select {
	case other.came <- named{its, other.Addr(), nowhere}:
	case <-other.shut:
		return nil, unix.ECONNREFUSED
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
	p.cable.mu.Lock()
	defer p.cable.mu.Unlock()
	if p.cable.between(p.rank, other.rank) { // it has just been cut
		mine.Close()
		return nil, errCut
	}
	p.cable.open = append(p.cable.open, span{mine, p.rank, other.rank})
	return named{mine, nowhere, other.Addr()}, nil
}

func (p *plug) Accept() (net.Conn, error) {
	select {
	case <-p.shut: // no connection is accepted after that
		return nil, net.ErrClosed
	default:
	}
	select {
	case conn := <-p.came:
		return conn, nil
	case <-p.shut:
		return nil, net.ErrClosed
	}
}

func (p *plug) Close() error {
	p.once.Do(func() { close(p.shut) })
	return nil
}

func (p *plug) Addr() net.Addr { return at(fmt.Sprintf("10.0.0.%d:1", p.rank+1)) }

// named is a connection whose ends have addresses.
type named struct {
	net.Conn
	local, remote net.Addr
}

func (n named) LocalAddr() net.Addr  { return n.local }
func (n named) RemoteAddr() net.Addr { return n.remote }

// at is an address on a cable.
type at string

func (a at) Network() string { return "cable" }
func (a at) String() string  { return string(a) }

const nowhere = at("10.0.0.0:1") // the port of a dialer
