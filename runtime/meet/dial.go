package meet

import (
	"context"
	"errors"
	"net"
	"syscall"
	"time"

	"github.com/schedgen/schedgen/runtime/clock"
	"github.com/schedgen/schedgen/runtime/internal/tcpopt"
)

// The system resends a lost first packet after a second (RFC 6298, section 2), and then after two,
// which is long compared to the rest of the conversation. So if an attempt has no answer for a
// while, another one starts in parallel, and the first success counts.
const (
	firstPatience = 40 * time.Millisecond // doubles each time
	maxAttempts   = 7
)

// Dial connects to another rank within limit. The clock is for the intervals between attempts; the
// system keeps the limit.
func Dial(ctx context.Context, c clock.Clock, addr string, limit time.Duration) (net.Conn, error) {
	t := tcpNetwork{clock: c, resolver: net.DefaultResolver, limit: limit}
	return t.Dial(ctx, addr)
}

// begin prepares a socket before it connects or listens. While ranks meet, each connection carries
// little; its later user decides how it continues ([tcpopt.Usual]).
func begin(_, _ string, c syscall.RawConn) error {
	return c.Control(func(fd uintptr) { tcpopt.Begin(int(fd)) })
}

// attempt connects once. It refuses connections to itself: if no process listens at a local port in
// the range for outgoing connections, the system can give a dial that very port, and the dial
// connects to itself.
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
