package stream

import (
	"fmt"
	"net"
	"slices"
	"sync/atomic"
	"time"

	"golang.org/x/sys/unix"

	"github.com/schedgen/schedgen/internal/clock"
	"github.com/schedgen/schedgen/internal/meet"
	"github.com/schedgen/schedgen/runtime/wire"
)

const (
	spareStrangers = 64 + 256               // silent connections at once, beyond two of each rank
	acceptPause    = 100 * time.Millisecond // pause after the system has run out of a resource
	maxAccepts     = 64                     // in one Poll

	// greetTime is how long a connection may say nothing: a rank that connects greets at once,
	// unless its process is stopped.
	greetTime = time.Minute
	// A stranger costs about 25 µs. After strangersASpan of them within strangerSpan, which is 3 %
	// of it, all new connections wait for the next span (BenchmarkAmongStrangers).
	strangerSpan   = 50 * time.Millisecond
	strangersASpan = 60
)

// acceptor is the listening descriptor, with the connections that have not greeted.
type acceptor struct {
	t      *Transport
	fd     int
	token  int32
	pause  clock.Timer
	resume atomic.Bool
	since  time.Time      // when the system ran out of a resource
	last   time.Time      // when the system last ran out
	guests []*conn        // connections that have not named their rank, the oldest first
	others func(net.Conn) // takes connections to a lobby; nil: they are strangers

	span      time.Time // start of the current span
	strangers int       // strangers in the current span
	tidy      clock.Timer
	untidy    atomic.Bool // guests may have been silent for greetTime
}

// Ready implements [reactor.Source], like the other methods of that name.
func (a *acceptor) Ready(s wire.Sink, _, _ bool) (moved bool) {
	for range maxAccepts {
		if a.strangers >= strangersASpan && a.overrun() {
			return moved
		}
		fd, err := acceptFD(a.fd)
		switch {
		case err == nil:
			moved = a.t.welcome(fd, s) || moved
		case err == unix.EAGAIN:
			return moved
		case err != unix.EINTR && err != unix.ECONNABORTED:
			a.rest(err)
			return moved
		}
	}
	return moved
}

// rest stops listening for a while: the system is out of descriptors or memory, and waiting
// connections can stay in its queue. If that lasts longer than a rank may take to connect, this
// rank cannot be reached.
func (a *acceptor) rest(err error) {
	now := a.t.clock.Now()
	if now.Sub(a.last) > 2*acceptPause {
		a.since = now
	}
	a.last = now
	if now.Sub(a.since) >= a.t.dialer.timeout {
		a.t.fault(fmt.Errorf("tcp: accept connections: %w", err))
	}
	a.stopFor(acceptPause)
}

// overrun stops listening until the span is over, if there were too many strangers in it.
func (a *acceptor) overrun() bool {
	left := strangerSpan - a.t.clock.Now().Sub(a.span)
	if left <= 0 {
		a.strangers = 0
		return false
	}
	a.stopFor(left)
	return true
}

// stranger counts a connection that was turned away.
func (a *acceptor) stranger() {
	if now := a.t.clock.Now(); now.Sub(a.span) >= strangerSpan {
		a.span, a.strangers = now, 0
	}
	a.strangers++
}

// stopFor stops listening for a while. New connections wait in the system's queue.
func (a *acceptor) stopFor(d time.Duration) {
	if a.token < 0 {
		return // it pauses already
	}
	a.t.reactor.Unwatch(a.fd, a.token)
	a.token = -1
	a.pause = a.t.clock.AfterFunc(d, func() {
		a.resume.Store(true)
		a.t.Wake()
	})
}

// enter adds a guest.
func (a *acceptor) enter(c *conn) {
	if a.guests = append(a.guests, c); len(a.guests) == 1 {
		a.tidyIn(greetTime)
	}
}

func (a *acceptor) tidyIn(d time.Duration) {
	if a.tidy != nil {
		a.tidy.Reset(d)
		return
	}
	a.tidy = a.t.clock.AfterFunc(d, func() {
		a.untidy.Store(true)
		a.t.Wake()
	})
}

// tidyUp turns away the guests that have been silent for greetTime.
func (a *acceptor) tidyUp() {
	a.untidy.Store(false)
	for now := a.t.clock.Now(); len(a.guests) > 0; {
		if left := greetTime - now.Sub(a.guests[0].in.since); left > 0 {
			a.tidyIn(left)
			return
		}
		a.t.reject(a.guests[0])
	}
}

// wake listens again after a rest.
func (a *acceptor) wake() {
	a.resume.Store(false)
	var err error
	if a.token, err = a.t.reactor.Watch(a.fd, a, true, false); err != nil {
		a.token = -1
		a.pause.Reset(acceptPause)
	}
}

// welcome takes in a connection that has not named its rank yet. The number of such connections is
// limited: the connection that has been silent longest makes room. Most have their greeting by the
// time they are accepted.
func (t *Transport) welcome(fd int, s wire.Sink) bool {
	if unix.SetsockoptInt(fd, unix.IPPROTO_TCP, unix.TCP_NODELAY, 1) != nil {
		closeFD(fd) // it is reset already
		return false
	}
	hurry(fd)
	if c := t.guest(fd, nil); c != nil {
		t.meet(&c.in, s)
		return true
	}
	return false
}

// guest takes in a connection. read holds the bytes that were read already. It returns nil if the
// connection is broken.
func (t *Transport) guest(fd int, read []byte) *conn {
	c := t.newConn()
	c.in.since, c.in.buf = t.clock.Now(), make([]byte, greetingLen)
	c.in.w = copy(c.in.buf, read)
	if err := c.connect(fd); err != nil {
		t.reject(c)
		return nil
	}
	if len(t.listener.guests) >= t.size*int(wire.Lanes)+spareStrangers {
		t.reject(t.listener.guests[0])
	}
	t.listener.enter(c)
	return c
}

// admit takes in a connection that has arrived while the ranks met.
func (a *acceptor) admit(e *meet.Early) {
	fd, err := takeConn(e.Conn)
	if err != nil {
		return // it is broken already
	}
	_ = a.t.guest(fd, e.Read)
}

// reject closes a connection that does not belong here.
func (t *Transport) reject(c *conn) {
	t.forget(c)
	hasten(c.fd)
	t.closeConn(c)
	t.stats.Rejected++
	t.listener.stranger()
}

func (t *Transport) forget(c *conn) {
	if i := slices.Index(t.listener.guests, c); i >= 0 {
		t.listener.guests = slices.Delete(t.listener.guests, i, i+1)
	}
}

// meet reads the greeting of a new connection.
func (t *Transport) meet(c *inbound, s wire.Sink) bool {
	n, err := read(c.fd, c.buf[c.w:])
	if err != nil {
		if !again(err) {
			t.reject(c.conn)
		}
		return false
	}
	c.w += n
	if t.listener.others != nil && meet.IsOpening(c.buf[:c.w]) {
		t.handOver(c)
		return true
	}
	if c.w < greetingLen {
		return true
	}
	g, ok := decodeGreeting(c.buf, t.id, t.size)
	if !ok || !t.authentic(&g, c.buf) || !t.introduce(c, &g) {
		t.reject(c.conn)
		return true
	}
	c.buf, c.r, c.w = nil, 0, 0
	if c.phase == employed {
		t.receive(c, s)
	}
	return true
}

// handOver gives away a connection to a lobby.
func (t *Transport) handOver(c *inbound) {
	read := c.buf[:c.w]
	t.forget(c.conn)
	_ = c.watch(false, false) // otherwise the system forgets it with the transport's poller
	fd := c.fd
	c.fd = -1
	t.closeConn(c.conn)
	if conn, err := connOf(fd); err == nil { // otherwise it is broken, and the guest comes again
		t.listener.others(meet.Begun(conn, read))
	}
}

// authentic reports whether a greeting comes from a rank that has met the others, and is for this
// rank. It completes the turn.
func (t *Transport) authentic(g *greeting, b []byte) bool {
	g.turn = t.peers[g.rank].wholeTurn(laneIndex(g.lane, g.comm), g.turn)
	return t.session.Proven(g.claim(b, t.rank), b[recordLen:])
}

// introduce gives the connection to its peer, where it may have to wait for its turn. It returns
// false if no peer would open such a connection.
func (t *Transport) introduce(c *inbound, g *greeting) bool {
	p := &t.peers[g.rank]
	if g.rank == t.rank || p.end.told || p.end.how == wire.Broken {
		return false
	}
	i := laneIndex(g.lane, g.comm)
	in, out, err := t.session.Lines(g.rank, t.rank, i, g.turn)
	if err != nil {
		t.fault(fmt.Errorf("tcp: take a connection of rank %d: %w", g.rank, err))
		return false
	}
	p.reach(i)
	c.p, c.lane, c.sealed.line, c.out.sealed.line = p, i, in, out
	p.conns = append(p.conns, c.conn)
	c.watched.Eager()
	if t.place(c, g.turn) != nil {
		return false
	}
	t.forget(c.conn)
	if t.parting.parted {
		t.leave(&c.out)
	}
	return true
}
