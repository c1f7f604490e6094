package hybrid

import (
	"errors"
	"sync/atomic"
	"time"

	"golang.org/x/sys/unix"

	"github.com/schedgen/schedgen/internal/clock"
	"github.com/schedgen/schedgen/internal/transport/reactor"
	"github.com/schedgen/schedgen/internal/transport/segment"
	"github.com/schedgen/schedgen/runtime/wire"
)

// Transport is one rank's end of a communicator. Its methods follow the rules of [wire.Transport].
type Transport struct {
	rank, size int
	id         [16]byte
	clock      clock.Clock
	location   *location
	self       *self
	bells      []int // by number on this host: the pipes that wake its ranks

	near  *segment.Transport  // connects the ranks of this host; nil: there is only one, or they do not share memory
	net   network             // connects the ranks that do not share memory; nil: all ranks share it
	watch *reactor.Descriptor // watches this rank's pipe
	sink  sink
	first windows
	group []int // scratch of nearby

	closed bool
	shut   atomic.Bool // closed, for Wait and Wake
}

// Rank returns this process's number in the communicator.
func (t *Transport) Rank() int { return t.rank }

// Size returns the number of ranks.
func (t *Transport) Size() int { return t.size }

// ID returns the communicator's identity, drawn by rank 0.
func (t *Transport) ID() [16]byte { return t.id }

// Reason says why ranks of this host use the network among each other. It is empty if they share
// memory or there is only one.
func (t *Transport) Reason() string { return t.location.reason }

// Shared reports whether all ranks share memory.
func (t *Transport) Shared() bool { return t.net == nil }

// Caps returns the Caps of the network, or of the memory if all ranks share it.
func (t *Transport) Caps() wire.Caps {
	if t.net == nil {
		return t.near.Caps()
	}
	caps := t.net.Caps()
	caps.Local, caps.Host = t.location.here, t.location.host
	if t.near != nil && len(t.location.ranks) == t.size { // otherwise hosts might differ
		caps.Pace = t.near.Caps().Pace
	}
	return caps
}

// isNear reports whether a rank shares memory with this rank.
func (t *Transport) isNear(rank int) bool {
	return rank >= 0 && rank < t.size && t.location.local[rank] >= 0
}

// Put queues f for rank to, in memory or for the network.
func (t *Transport) Put(to int, f *wire.Frame) {
	switch {
	case t.isNear(to):
		t.near.Put(t.location.local[to], f)
	case t.net != nil:
		t.net.Put(to, f)
	default:
		f.Release()
	}
}

// Taken implements [wire.Taker]; memory takes frames at once.
func (t *Transport) Taken(to int) uint64 {
	if net, ok := t.net.(wire.Taker); ok && !t.isNear(to) {
		return net.Taken(to)
	}
	return 0
}

// Open implements [wire.Opener]; memory needs no connections.
func (t *Transport) Open(to int) {
	if net, ok := t.net.(wire.Opener); ok && !t.isNear(to) {
		net.Open(to)
	}
}

// Mcast queues f for all other ranks, or for the ranks of its communicator's group. It uses the
// network if any rank is there.
func (t *Transport) Mcast(f *wire.Frame) {
	if t.net == nil {
		t.near.Mcast(f)
		return
	}
	t.net.Mcast(f)
}

// DrawGroup implements [wire.Groups]. There are no groups if multicasts go through memory, which
// all ranks read, or if there are no multicasts.
func (t *Transport) DrawGroup() (wire.GroupName, error) {
	if g, ok := t.net.(wire.Groups); ok {
		return g.DrawGroup()
	}
	return wire.GroupName{}, wire.ErrNoGroups
}

// JoinGroup implements [wire.Groups].
func (t *Transport) JoinGroup(name wire.GroupName, members []int) (wire.Group, error) {
	if g, ok := t.net.(wire.Groups); ok {
		return g.JoinGroup(name, members)
	}
	return nil, wire.ErrNoGroups
}

// Datagram queues f for rank to over the network. If all ranks share memory it drops f, since puts
// in memory are never lost.
func (t *Transport) Datagram(to int, f *wire.Frame) {
	if t.net == nil {
		f.Release()
		return
	}
	t.net.Datagram(to, f)
}

// Poll sends and receives what is possible now, in memory first.
func (t *Transport) Poll(s wire.Sink) bool {
	if t.closed {
		return false
	}
	moved := false
	if t.near != nil {
		t.sink.to = s
		moved = t.near.Poll(&t.sink)
	}
	if t.net == nil {
		return moved
	}
	return t.net.Poll(s) || moved
}

// Wait parks until Poll may find something to do; see [wire.Transport].
func (t *Transport) Wait(d time.Duration) {
	switch {
	case t.shut.Load():
	case t.near == nil:
		t.net.Wait(d)
	case t.net == nil:
		t.near.Wait(d)
	default:
		if limit, ok := t.near.Away(d); ok {
			t.net.Wait(limit)
			t.near.Back()
		}
	}
}

// Wake ends the running Wait, or else the next one.
func (t *Transport) Wake() {
	if t.net == nil {
		t.near.Wake()
		return
	}
	t.net.Wake()
}

// kick wakes a rank of this host, by its number there. The write fails harmlessly if the rank has
// died; a full pipe wakes it as well.
func (t *Transport) kick(local int) { _, _ = unix.Write(t.bells[local], one[:]) }

var one = [1]byte{1}

// Abandon drops queued frames of operations; see [wire.Transport].
func (t *Transport) Abandon(comm uint8) {
	if t.near != nil {
		t.near.Abandon(comm)
	}
	if t.net != nil {
		t.net.Abandon(comm)
	}
}

// Forget frees the resources of a communicator; see [wire.Transport].
func (t *Transport) Forget(comm uint8) {
	if t.near != nil {
		t.near.Forget(comm)
	}
	if t.net != nil {
		t.net.Forget(comm)
	}
}

// Stats returns the sum of both transports' counters. The caller holds the lock of Poll.
func (t *Transport) Stats() wire.Stats {
	var all wire.Stats
	if t.near != nil {
		all = t.near.Stats()
	}
	if t.net != nil {
		all = sum(all, t.net.Stats())
	}
	return all
}

// sum adds the counters of memory to the counters of the network.
func sum(near, net wire.Stats) wire.Stats {
	net.PutFrames += near.PutFrames
	net.PutBytes += near.PutBytes
	net.MemoryBytes += near.MemoryBytes
	net.Flags += near.Flags
	net.Lent += near.Lent
	net.GotFrames += near.GotFrames
	net.GotBytes += near.GotBytes
	net.Torn += near.Torn
	return net
}

// Close ends the communicator for this rank; see [wire.Transport]. It closes the memory first, then
// the network, each with the same linger.
func (t *Transport) Close(bye bool, linger time.Duration) error {
	if t.closed {
		return nil
	}
	t.closed = true
	t.shut.Store(true)
	var errs [4]error
	if t.near != nil {
		if t.net != nil {
			t.net.Wake() // memory is unmapped when no goroutine waits in it
		}
		errs[0] = t.near.Close(bye, linger)
	}
	if t.net != nil {
		if t.watch != nil {
			errs[1] = t.watch.Modify(false, false)
		}
		errs[2] = t.net.Close(bye, linger)
	}
	for _, fd := range t.bells {
		closeFD(fd)
	}
	errs[3] = t.self.close()
	return errors.Join(errs[:]...)
}
