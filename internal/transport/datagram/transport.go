// Package datagram implements the datagrams of package mcast: UDP datagrams for multicasts and for
// frames to one rank that may be lost, besides the connections of package stream.
package datagram

import (
	"errors"
	"net/netip"
	"sync/atomic"
	"time"

	"golang.org/x/sys/unix"

	"github.com/schedgen/schedgen/internal/transport/fragment"
	"github.com/schedgen/schedgen/internal/transport/reactor"
	"github.com/schedgen/schedgen/internal/transport/stream"
	"github.com/schedgen/schedgen/runtime/wire"
)

const (
	maxBurst   = 64      // greatest number of datagrams sent, and received, in one Poll
	batchBytes = 1 << 20 // size of a batch of datagrams, unless it has fewer than minBatch
	minBatch   = 8

	// overrunPause is how long a full queue of an interface gets to drain: four datagrams of
	// Ethernet's size at 100 Mbit/s.
	overrunPause = 500 * time.Microsecond
)

// Transport is one rank's end of a communicator. Its methods follow the rules of [wire.Transport].
type Transport struct {
	puts    *stream.Transport
	rank    int
	size    int
	mark    fragment.Mark
	payload int            // agreed payload of a datagram
	over    int            // bytes besides the payload
	sealed  *sealed        // nil without a key
	room    int            // least room for datagrams in any receiver's buffer
	target  netip.AddrPort // the group
	names   []address      // addresses of the ranks' own sockets
	at      *endpoint
	heard   time.Duration // time within which rank 0 must be heard; 0: not checked
	silence func()        // at rank 0: stops the calls

	group   outlet // multicasts
	groups  groups // groups of communicators
	direct  outlet // datagrams to one rank
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

// Group returns the multicast address of the first communicator.
func (t *Transport) Group() netip.AddrPort { return t.target }

// Interface returns the name of the interface for multicasts.
func (t *Transport) Interface() string { return t.at.ifi.Name }

// Caps returns the Caps of the connections and of the datagrams.
func (t *Transport) Caps() wire.Caps {
	caps := t.puts.Caps()
	caps.Multicast, caps.Direct, caps.Datagram, caps.Room = true, true, t.payload, t.room
	return caps
}

// Reactor returns the reactor of the sockets, for transports with further descriptors.
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

// pause returns how long to wait at most: d, or less if the interface's queue must drain before
// more can be sent. d < 0 means no limit.
func pause(d time.Duration, overrun bool) time.Duration { return atMost(d, overrunPause, overrun) }

// atMost returns d, or limit if holds is set and limit is less. d < 0 means no limit.
func atMost(d, limit time.Duration, holds bool) time.Duration {
	if holds && (d < 0 || d > limit) {
		return limit
	}
	return d
}

// Stats returns the counters. The caller holds the lock of Poll.
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

// Poll sends and receives what is possible now; see [wire.Transport]. It limits bursts of
// datagrams, so that puts are served in between.
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

// Abandon drops queued frames of operations; see [wire.Transport].
func (t *Transport) Abandon(comm uint8) {
	t.group.abandon(comm)
	t.direct.abandon(comm)
	t.puts.Abandon(comm)
}

// Forget frees the resources of a communicator; see [wire.Transport].
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
	for bye && t.cast() { // datagrams that the system does not take now are lost
	}
	t.group.clear()
	t.direct.clear()
	t.groups.leaveAll()
	// While the puts are sent, datagrams are no longer read.
	t.arrival.all.readable, t.arrival.own.readable = false, false
	err := errors.Join(t.group.watch.Modify(false, false), t.direct.watch.Modify(false, false), t.arrival.watch.Modify(false, false))
	err = errors.Join(err, t.puts.Close(bye, linger))
	t.release()
	return err
}

// release closes the sockets; the system leaves the group with the last one.
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
		unix.Close(fd) // a failure loses nothing
	}
}

// Windows implements [wire.Transport]: there are none.
func (t *Transport) Windows() wire.Windows { return nil }
