package stream

import (
	"context"
	"errors"
	"fmt"
	"net"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"golang.org/x/sys/unix"

	"github.com/schedgen/schedgen/internal/clock"
	"github.com/schedgen/schedgen/internal/meet"
)

// dialer connects in the background.
type dialer struct {
	clock   clock.Clock   // clock of pauses; the system limits each attempt
	timeout time.Duration // for connecting to one peer
	attempt func(ctx context.Context, c clock.Clock, addr string, limit time.Duration) (net.Conn, error)
	running sync.WaitGroup
	ctx     context.Context // ends the dials
	cancel  context.CancelFunc
	mu      sync.Mutex // guards done
	done    []dialed
	fresh   atomic.Bool // done is not empty
}

func newDialer(c clock.Clock, timeout time.Duration) *dialer {
	d := &dialer{clock: c, timeout: timeout, attempt: meet.Dial}
	d.ctx, d.cancel = context.WithCancel(context.Background())
	return d
}

// dialed is the outcome of a dial.
type dialed struct {
	c   *conn
	fd  int
	err error
}

// dial connects c in the background, once per connection, and then calls wake.
func (d *dialer) dial(c *conn, wake func()) {
	d.running.Go(func() {
		out := dialed{c: c, fd: -1}
		conn, err := d.connect(c.p.addr)
		if err == nil {
			err = d.greet(conn, c.out.greets)
		}
		if err == nil {
			out.fd, err = takeConn(conn)
		}
		out.err = err
		d.mu.Lock()
		d.done = append(d.done, out)
		d.mu.Unlock()
		d.fresh.Store(true)
		wake()
	})
}

// greet sends a greeting at once, whatever its rank does meanwhile, since a silent connection
// counts as a stranger. It waits, up to the timeout, for a system that is short of memory for
// connections. A peer that has closed before it accepted the connection has reset it. The system
// reports the reset once: a later read only finds an end, as if the peer's process were dead.
func (d *dialer) greet(conn net.Conn, b []byte) error {
	end := func() { conn.Close() }
	late := d.clock.AfterFunc(d.timeout, end)
	defer late.Stop()
	defer context.AfterFunc(d.ctx, end)()
	_, err := conn.Write(b)
	if err != nil && !late.Stop() {
		err = fmt.Errorf("the system takes no bytes for %v: %w", d.timeout, err)
	}
	if err != nil {
		end()
	}
	return err
}

// dialPause is the time between two attempts to connect to an unreachable host.
const dialPause = 50 * time.Millisecond

// connect tries to connect to addr until the timeout. On a busy link the system's address lookups
// for a host may be lost, and it then soon reports that there is no route to the host.
func (d *dialer) connect(addr string) (net.Conn, error) {
	end := d.clock.Now().Add(d.timeout)
	for rest := d.timeout; ; {
		conn, err := d.attempt(d.ctx, d.clock, addr, rest)
		if err == nil || !passes(err) || clock.Sleep(d.ctx, d.clock, dialPause) != nil {
			return conn, err
		}
		if rest = end.Sub(d.clock.Now()); rest <= 0 {
			return nil, err
		}
	}
}

// passes reports whether a problem on the way to a peer, such as a network, an interface or a
// filter, may be temporary.
func passes(err error) bool {
	return slices.ContainsFunc(passing, func(errno unix.Errno) bool { return errors.Is(err, errno) })
}

var passing = []unix.Errno{unix.EHOSTUNREACH, unix.ENETUNREACH, unix.ENETDOWN, unix.EADDRNOTAVAIL, unix.ETIMEDOUT, unix.EPERM, unix.EACCES}

// drain returns and removes the new outcomes.
func (d *dialer) drain() []dialed {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.fresh.Store(false)
	list := d.done
	d.done = nil
	return list
}

// close ends the dials and closes the connections that they have opened.
func (d *dialer) close() {
	d.cancel()
	d.running.Wait()
	for _, out := range d.drain() {
		closeFD(out.fd)
	}
}

// adopt starts to use new connections.
func (t *Transport) adopt() {
	for _, d := range t.dialer.drain() {
		if d.c.closed {
			closeFD(d.fd)
			continue
		}
		err, p := d.err, d.c.p
		if err == nil {
			err = d.c.connect(d.fd)
		}
		if err != nil {
			t.closeConn(d.c)
			err = fmt.Errorf("tcp: connect to rank %d at %s: %w", p.rank, p.addr, err)
			if short(err) {
				t.fault(err)
			} else {
				t.unreached(p, err)
			}
			continue
		}
		p.opened++
		t.mark(&d.c.out)
	}
}
