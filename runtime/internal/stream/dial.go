package stream

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"golang.org/x/sys/unix"

	"github.com/schedgen/schedgen/runtime/clock"
	"github.com/schedgen/schedgen/runtime/internal/rendezvous"
)

// dialer connects in the background.
type dialer struct {
	clock   clock.Clock   // for pauses; the system bounds each attempt
	timeout time.Duration // to connect to one peer
	attempt func(ctx context.Context, c clock.Clock, addr string, limit time.Duration) (net.Conn, error)
	running sync.WaitGroup
	ctx     context.Context // ends the dials
	cancel  context.CancelFunc
	mu      sync.Mutex // guards done
	done    []dialed
	fresh   atomic.Bool // done is not empty
}

func newDialer(c clock.Clock, timeout time.Duration) *dialer {
	d := &dialer{clock: c, timeout: timeout, attempt: rendezvous.Dial}
	d.ctx, d.cancel = context.WithCancel(context.Background())
	return d
}

// dialed is the outcome of connecting.
type dialed struct {
	c   *conn
	fd  int
	err error
}

// dial connects c in the background, which happens once per connection, and
// calls wake.
func (d *dialer) dial(c *conn, wake func()) {
	d.running.Go(func() {
		out := dialed{c: c, fd: -1}
		conn, err := d.connect(c.p.addr)
		if err == nil {
			out.fd, err = takeConn(conn)
		}
		if err == nil {
			err = greet(out.fd, c.out.greets)
		}
		out.err = err
		d.mu.Lock()
		d.done = append(d.done, out)
		d.mu.Unlock()
		d.fresh.Store(true)
		wake()
	})
}

// greet says a greeting at once, whatever its rank does meanwhile: who connects and says
// nothing is a stranger. A peer that has closed without having taken the connection has reset it, which the
// system tells once: whoever reads then finds an end like that of a process that has died.
func greet(fd int, b []byte) error {
	n, err := unix.Write(fd, b)
	if again(err) || err == nil && n < len(b) {
		return io.ErrShortWrite // nothing that was just opened is full
	}
	return err
}

// dialPause is between two attempts to connect to a host that was not to be reached.
const dialPause = 50 * time.Millisecond

// connect tries to connect to addr until the timeout. On a busy link the system's
// questions for a host's address are lost like anything else, and it soon says that
// there is no way to that host.
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

// passes reports whether what is wrong with the way to a peer may soon be over: a
// network, an interface, a filter on the way.
func passes(err error) bool {
	return slices.ContainsFunc(passing, func(errno unix.Errno) bool { return errors.Is(err, errno) })
}

var passing = []unix.Errno{unix.EHOSTUNREACH, unix.ENETUNREACH, unix.ENETDOWN, unix.EADDRNOTAVAIL, unix.ETIMEDOUT, unix.EPERM, unix.EACCES}

// drain returns the outcomes that have not been looked at.
func (d *dialer) drain() []dialed {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.fresh.Store(false)
	list := d.done
	d.done = nil
	return list
}

// close ends the dials and gives back what they have opened.
func (d *dialer) close() {
	d.cancel()
	d.running.Wait()
	for _, out := range d.drain() {
		closeFD(out.fd)
	}
}

// adopt takes new connections into service.
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
