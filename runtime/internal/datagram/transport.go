// Package datagram is what package mcast sends by: UDP datagrams for what is
// multicast, and for what goes to one rank and may be lost, beside the connections
// of package stream.
package datagram

import (
	"errors"
	"net/netip"
	"sync/atomic"
	"time"

	"golang.org/x/sys/unix"

	"github.com/schedgen/schedgen/runtime/internal/fragment"
	"github.com/schedgen/schedgen/runtime/internal/reactor"
	"github.com/schedgen/schedgen/runtime/internal/stream"
	"github.com/schedgen/schedgen/runtime/wire"
)

const (
	maxBurst   = 64      // datagrams sent, and received, in one Poll
	batchBytes = 1 << 20 // of a batch of datagrams, unless it has fewer than minBatch
	minBatch   = 8

	// overrunPause is how long the queue of an interface that is full gets to
	// drain: of 100 Mbit/s, by four datagrams of Ethernet's size.
	overrunPause = 500 * time.Microsecond
)

// Transport is one rank's end of a communicator. Its methods follow the rules
// of [wire.Transport].
type Transport struct {
	puts    *stream.Transport
	rank    int
	size    int
	mark    fragment.Mark
	payload int            // agreed bytes of a datagram
	over    int            // bytes beside them
	sealed  *sealed        // nil without a key
	room    int            // of datagrams that a receiver's buffer has at least
	target  netip.AddrPort // the group
	names   []address      // of the ranks' own sockets
	at      *endpoint
	heard   time.Duration // within what rank 0 is to be heard; 0: nobody looks
	silence func()        // at rank 0, while it is to be heard

	group   outlet // what is multicast
	groups  groups // where it goes, if not to all
	direct  outlet // what is sent to one rank
	arrival arrival

	busy    atomic.Bool // there is more to do without waiting
	pausing atomic.Bool // there is more to send after a pause
	closed  bool
	stats   wire.Stats
}

var _ wire.Transport = (*Transport)(nil)

// Rank returns this process's number in the communicator.
func (t *Transport) Rank() int { return t.rank }

// Size returns the number of ranks.
func (t *Transport) Size() int { return t.size }

// ID returns the communicator's identity, drawn by rank 0.
func (t *Transport) ID() [16]byte { return t.mark.ID }

// Group returns where the communicator's datagrams go.
func (t *Transport) Group() netip.AddrPort { return t.target }

// Interface returns the name of the interface that is multicast on.
func (t *Transport) Interface() string { return t.at.ifi.Name }

// Caps says how much of a chunk fits into a datagram.
func (t *Transport) Caps() wire.Caps {
	caps := t.puts.Caps()
	caps.Multicast, caps.Direct, caps.Datagram, caps.Room = true, true, t.payload, t.room
	return caps
}

// Reactor returns what serves the sockets, for who has further descriptors.
func (t *Transport) Reactor() *reactor.Reactor { return t.puts.Reactor() }

// Put queues f for rank to, over TCP.
func (t *Transport) Put(to int, f *wire.Frame) { t.puts.Put(to, f) }

// Taken implements [wire.Taker].
func (t *Transport) Taken(to int) uint64 { return t.puts.Taken(to) }

// Wake ends the running Wait, or else the next one.
func (t *Transport) Wake() { t.puts.Wake() }

// Wait parks until Poll may find something to do; see [wire.Transport].
func (t *Transport) Wait(d time.Duration) {
	if t.busy.Load() {
		return
	}
	d = atMost(pause(d, t.pausing.Load()), joiningPause, t.groups.wakes.Load())
	t.puts.Wait(t.arrival.collect.shorten(d))
	t.arrival.collect.slept.Store(true)
}

// pause returns how long to wait at most: d, or less if the interface's queue
// has to drain before what is left can be sent. d < 0 is without limit.
func pause(d time.Duration, overrun bool) time.Duration { return atMost(d, overrunPause, overrun) }

// atMost returns d, or limit if that holds and is less. d < 0 is without limit.
func atMost(d, limit time.Duration, holds bool) time.Duration {
	if holds && (d < 0 || d > limit) {
		return limit
	}
	return d
}

// Stats returns the counters; it is called under the same lock as Poll.
func (t *Transport) Stats() wire.Stats {
	s := t.puts.Stats()
	s.McastFrames, s.McastBytes, s.DatagramFrames = t.stats.McastFrames, t.stats.McastBytes, t.stats.DatagramFrames
	s.GotDatagrams, s.Foreign, s.Torn, s.Forged = t.stats.GotDatagrams, t.stats.Foreign, t.stats.Torn, t.stats.Forged
	s.Unauthenticated += t.stats.Unauthenticated
	s.Replayed = t.stats.Replayed
	s.Early, s.Injected, s.Unsendable = t.stats.Early, t.stats.Injected, t.stats.Unsendable
	s.Groups, s.GroupsRefused = t.stats.Groups, t.stats.GroupsRefused
	return s
}

// Poll sends and receives what is possible now; see [wire.Transport]. A
// burst of datagrams is bounded, so that puts are served in between.
func (t *Transport) Poll(s wire.Sink) bool {
	if t.closed {
		return false
	}
	if len(t.groups.joining) > 0 {
		t.callGroups()
	}
	moved := t.cast()
	moved = t.puts.Poll(s) || moved
	moved = t.arrival.stashes.Offer(s) || moved
	moved = t.readAll(s) || moved
	return t.Flush(s) || moved
}

// Flush implements [wire.Flusher].
func (t *Transport) Flush(s wire.Sink) bool {
	if t.closed {
		return false
	}
	moved := t.cast()
	moved = t.puts.Flush(s) || moved
	t.busy.Store(t.group.ready() || t.direct.ready() || t.arrival.all.readable || t.arrival.own.readable || len(t.groups.ready) > 0)
	t.pausing.Store(t.group.overrun || t.direct.overrun)
	return moved
}

// Abandon forgets what is queued of operations; see [wire.Transport].
func (t *Transport) Abandon(comm uint8) {
	t.group.abandon(comm)
	t.direct.abandon(comm)
	t.puts.Abandon(comm)
}

// Forget gives back what there is for a communicator; see [wire.Transport].
func (t *Transport) Forget(comm uint8) {
	t.arrival.stashes.Forget(comm)
	t.puts.Forget(comm)
}

// Close ends the communicator for this rank; see [wire.Transport].
func (t *Transport) Close(bye bool, linger time.Duration) error {
	if t.closed {
		return nil
	}
	t.block(&t.group, false)
	t.block(&t.direct, false)
	for bye && t.cast() { // what the system does not take now is lost
	}
	t.group.clear()
	t.direct.clear()
	t.groups.leaveAll()
	// While the puts are sent, nobody reads datagrams any more.
	t.arrival.all.readable, t.arrival.own.readable = false, false
	err := errors.Join(t.group.watch.Modify(false, false), t.direct.watch.Modify(false, false), t.arrival.watch.Modify(false, false))
	err = errors.Join(err, t.puts.Close(bye, linger))
	t.release()
	return err
}

// release closes the sockets; the system leaves the group with the last.
func (t *Transport) release() {
	t.closed = true
	t.busy.Store(false)
	closeFD(t.group.fd)
	closeFD(t.direct.fd)
	closeFD(t.arrival.all.fd)
	t.group.fd, t.direct.fd, t.arrival.all.fd, t.arrival.own.fd = -1, -1, -1, -1
}

func closeFD(fd int) {
	if fd >= 0 {
		unix.Close(fd) // nothing can be done, and nothing is lost, if it fails
	}
}

// Windows implements [wire.Transport]: there are none.
func (t *Transport) Windows() wire.Windows { return nil }
