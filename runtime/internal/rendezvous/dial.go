package rendezvous

import (
	"context"
	"errors"
	"net"
	"syscall"
	"time"

	"github.com/schedgen/schedgen/runtime/clock"
	"github.com/schedgen/schedgen/runtime/internal/tcpopt"
)

// The system sends a first packet that is lost again after a second (RFC 6298,
// section 2), and then after two, which is long beside all that ranks say
// afterwards. So an attempt that has not been answered for a while gets another one
// beside it, and the first that succeeds counts.
const (
	firstPatience = 40 * time.Millisecond // then twice as long each time
	maxAttempts   = 7
)

// Dial connects to another rank within limit. The clock is for the patience with an
// attempt; the limit is kept by the system.
func Dial(ctx context.Context, c clock.Clock, addr string, limit time.Duration) (net.Conn, error) {
	t := tcpNetwork{clock: c, resolver: net.DefaultResolver, limit: limit}
	return t.Dial(ctx, addr)
}

// begin is for a socket that does not connect or listen yet. While ranks meet little goes by
// any connection; what becomes of it later is for others to say ([tcpopt.Usual]).
func begin(_, _ string, c syscall.RawConn) error {
	return c.Control(func(fd uintptr) { tcpopt.Begin(int(fd)) })
}

// attempt connects once. It refuses connections to itself: while nobody listens at a
// local port out of the range from which the system takes the ports of outgoing
// connections, a dial can be given that port and meet itself.
func (t *tcpNetwork) attempt(ctx context.Context, addr string, limit time.Duration) (net.Conn, error) {
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

// race returns the first outcome of attempts of which each begins when the one before
// has taken too long. An error is an answer, too.
func race(ctx context.Context, c clock.Clock, attempt func(context.Context) (net.Conn, error)) (net.Conn, error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	outcomes, late, over := make(chan outcome), make(chan struct{}, 1), make(chan struct{})
	defer close(over)
	begin := func() {
		conn, err := attempt(ctx)
		select {
		case outcomes <- outcome{conn, err}:
		case <-over: // another one was first
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
