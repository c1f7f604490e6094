package stream

import (
	"fmt"
	"slices"
	"sync/atomic"
	"time"

	"golang.org/x/sys/unix"

	"github.com/schedgen/schedgen/runtime/clock"
	"github.com/schedgen/schedgen/runtime/wire"
)

const (
	spareStrangers = 64 + 256               // connections beyond two of each rank that may be silent at once
	acceptPause    = 100 * time.Millisecond // after the system has run out of something
	maxAccepts     = 64                     // in one Poll
)

// acceptor is the listening descriptor, and who has connected.
type acceptor struct {
	t      *Transport
	fd     int
	token  int32
	pause  clock.Timer
	resume atomic.Bool
	since  time.Time  // when the system has run out of something
	last   time.Time  // and when it still was
	guests []*inbound // connections that have not said which rank they come from
}

// Ready implements [reactor.Source], as do the others.
func (a *acceptor) Ready(s wire.Sink, _, _ bool) (moved bool) {
	for range maxAccepts {
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

// rest stops listening for a while: the system is out of descriptors or
// memory, and the connections that wait can wait where they are. If that lasts longer
// than a rank may take to connect, this rank cannot be reached.
func (a *acceptor) rest(err error) {
	now := a.t.clock.Now()
	if now.Sub(a.last) > 2*acceptPause {
		a.since = now
	}
	a.last = now
	if now.Sub(a.since) >= a.t.dialer.timeout {
		a.t.fault(fmt.Errorf("tcp: accept connections: %w", err))
	}
	a.t.reactor.Unwatch(a.fd, a.token)
	a.token = -1
	a.pause = a.t.clock.AfterFunc(acceptPause, func() {
		a.resume.Store(true)
		a.t.Wake()
	})
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

// welcome takes a connection in that has not yet said whose it is. There are
// only so many of them: the one that has been silent longest makes room. Most
// have been given their greeting by the time they are accepted.
func (t *Transport) welcome(fd int, s wire.Sink) bool {
	if unix.SetsockoptInt(fd, unix.IPPROTO_TCP, unix.TCP_NODELAY, 1) != nil {
		closeFD(fd) // it is reset already
		return false
	}
	hurry(fd)
	c := &inbound{t: t, fd: fd, token: -1, buf: make([]byte, recordLen)}
	var err error
	if c.token, err = t.reactor.Watch(fd, c, true, false); err != nil {
		t.reject(c)
		return false
	}
	if len(t.listener.guests) >= t.size*int(wire.Lanes)+spareStrangers {
		t.reject(t.listener.guests[0])
	}
	t.listener.guests = append(t.listener.guests, c)
	t.meet(c, s)
	return true
}

// reject closes a connection that does not belong here.
func (t *Transport) reject(c *inbound) {
	t.forget(c)
	hasten(c.fd)
	t.closeIn(c)
	t.stats.Rejected++
}

func (t *Transport) forget(c *inbound) {
	if i := slices.Index(t.listener.guests, c); i >= 0 {
		t.listener.guests = slices.Delete(t.listener.guests, i, i+1)
	}
}

// meet reads the greeting of a new connection.
func (t *Transport) meet(c *inbound, s wire.Sink) bool {
	n, err := read(c.fd, c.buf[c.w:])
	if err != nil {
		if !again(err) {
			t.reject(c)
		}
		return false
	}
	if c.w += n; c.w < recordLen {
		return true
	}
	g, ok := decodeGreeting(c.buf, t.id, t.size)
	if !ok || !t.introduce(c, &g) {
		t.reject(c)
		return true
	}
	if c.p.in[c.lane] == c {
		t.receive(c, s)
	}
	return true
}

// introduce gives the connection to its peer, where it may have to wait for its
// turn. It reports false for one that no peer would open.
func (t *Transport) introduce(c *inbound, g *greeting) bool {
	p := &t.peers[g.rank]
	if g.rank == t.rank || p.end.told || p.end.how == wire.Broken {
		return false
	}
	i := laneIndex(g.lane, g.comm)
	p.reach(i)
	c.p, c.lane, c.turn = p, i, g.turn
	if g.turn == p.inTurn[i] && p.in[i] == nil {
		t.employ(c)
	} else if !t.await(c) {
		c.p = nil
		return false
	}
	t.forget(c)
	if t.parting.parted {
		t.partBack(c)
	}
	return true
}

// employ takes a connection into service whose turn has come.
func (t *Transport) employ(c *inbound) {
	c.buf, c.r, c.w = make([]byte, bufferSize), 0, 0
	c.p.in[c.lane] = c
	c.p.inTurn[c.lane]++
	if c.p.near {
		relax(c.fd)
	}
}
