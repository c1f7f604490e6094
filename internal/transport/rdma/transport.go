package rdma

import (
	"sync/atomic"
	"time"

	"github.com/schedgen/schedgen/internal/clock"
	"github.com/schedgen/schedgen/internal/transport/reactor"
	"github.com/schedgen/schedgen/runtime/wire"
)

// Transport is one rank's end of a communicator. Its methods follow the rules of [wire.Transport].
type Transport struct {
	rank, size int
	clock      clock.Clock

	adapter Adapter
	own     Region
	plan    plan
	way     way
	peers   []pair
	begun   []*pair // pairs with a queue pair
	dirty   []*pair // pairs to which something may be sent
	aside   []*pair // pairs with records that wait for the sink
	ending  []*pair // pairs whose end the sink must still be told
	works   []Work  // to be posted next
	found   []Completion
	grams   grams
	park    park
	closed  bool
	stats   wire.Stats
}

var _ wire.Transport = (*Transport)(nil)

// park is the state of waiting.
type park struct {
	watch   *reactor.Descriptor // of the adapter
	pending atomic.Bool         // there is more to do without waiting
	armed   atomic.Bool         // the next completion ends a Wait
	wanted  atomic.Bool         // the next Poll that finds nothing must arm the adapter
	woken   atomic.Bool         // a Wait has ended
	full    bool                // the last Poll has taken as many completions as it may
	idle    int                 // number of Polls that have found nothing
	pulsed  time.Time           // when peers were last checked
	next    int                 // index in begun of the peer that was checked last
}

// Rank returns the rank of this process in the communicator.
func (t *Transport) Rank() int { return t.rank }

// Size returns the number of ranks.
func (t *Transport) Size() int { return t.size }

// ID returns the communicator's identity, which rank 0 has drawn.
func (t *Transport) ID() [16]byte { return t.grams.mark.ID }

// Group returns the group of the communicator's multicasts.
func (t *Transport) Group() Group { return t.grams.group }

// Caps says how much of a chunk fits into a datagram, among other things.
func (t *Transport) Caps() wire.Caps {
	caps := t.way.puts.Caps()
	caps.RDMA = true
	if t.grams.casts {
		caps.Multicast, caps.Direct, caps.Datagram, caps.Room = true, true, t.grams.payload, t.grams.room
	}
	return caps
}

// Reactor returns the reactor of the sockets, for transports with further descriptors.
func (t *Transport) Reactor() *reactor.Reactor { return t.way.puts.Reactor() }

// Stats returns the counters. It is called under the same lock as Poll.
func (t *Transport) Stats() wire.Stats {
	s := t.stats
	s.Rejected = t.way.puts.Stats().Rejected
	return s
}

// Wake ends the running Wait, or otherwise the next one.
func (t *Transport) Wake() { t.way.puts.Wake() }

// Wait parks until Poll may find something to do; see [wire.Transport]. It takes no completions,
// because Poll must take them. It asks the next Poll to arm the adapter.
func (t *Transport) Wait(d time.Duration) {
	switch {
	case t.park.pending.Load():
		return
	case !t.park.armed.Load():
		t.park.wanted.Store(true)
		return
	}
	if d < 0 || d > pulseEvery {
		d = pulseEvery
	}
	if t.grams.groups.wakes.Load() {
		d = min(d, joiningPause)
	}
	t.way.puts.Wait(d)
	t.park.woken.Store(true)
}

// idlePolls is the number of fruitless Polls after which the clock is read for a pulse.
const idlePolls = 1 << 12

// Poll sends and receives what is possible now; see [wire.Transport].
func (t *Transport) Poll(s wire.Sink) bool {
	if t.closed {
		return false
	}
	moved := false
	if t.way.due(t.park.woken.Load()) {
		t.park.woken.Store(false)
		moved = t.serve(s)
	}
	moved = t.stage() || moved
	moved = t.step(s) || moved
	if !moved {
		moved = t.rest(s)
	}
	t.park.pending.Store(len(t.dirty) > 0 || t.grams.ready() || t.park.full || len(t.way.ends) > 0 || t.tells())
	return moved
}

// step posts the staged works, handles the completed ones, and sends the responses.
func (t *Transport) step(s wire.Sink) (moved bool) {
	moved = t.exchange(s) > 0
	moved = t.offer(s) || moved
	if !t.park.full {
		t.sever()
		moved = t.tellEnds(s) || moved
	}
	if t.stage() {
		t.exchange(s)
		moved = true
	}
	return moved
}

// rest does work that can wait until nothing has moved. It looks for completions once more, because
// the adapter does not signal completions from before it was armed.
func (t *Transport) rest(s wire.Sink) (moved bool) {
	t.way.polls += idleWeight
	if t.park.idle++; t.park.idle >= idlePolls {
		t.park.idle = 0
		t.beat()
	}
	if !t.park.wanted.Load() || t.park.armed.Load() {
		return false
	}
	t.park.wanted.Store(false)
	if err := t.adapter.Arm(); err != nil {
		t.fail(t.rank, err)
		return false
	}
	t.park.armed.Store(true)
	return t.step(s)
}

// Ready implements [reactor.Source]. The adapter signals completions.
func (t *Transport) Ready(wire.Sink, bool, bool) bool {
	t.park.armed.Store(false)
	if err := t.adapter.Drain(); err != nil {
		t.fail(t.rank, err)
	}
	return false
}

// Abandon discards the queued frames of operations; see [wire.Transport].
func (t *Transport) Abandon(comm uint8) {
	t.grams.queue.Abandon(comm)
	for _, p := range t.begun {
		if p.abandon(comm) {
			t.touch(p)
		}
	}
}

// Forget frees the state of a communicator; see [wire.Transport]. Its lanes stay for the next
// communicator of that number, because the frames of both are in order.
func (t *Transport) Forget(comm uint8) {
	t.grams.stashes.Forget(comm)
	for _, p := range t.begun {
		p.forget(comm)
	}
}

// Put queues f for rank to.
func (t *Transport) Put(to int, f *wire.Frame) {
	if t.closed || to < 0 || to >= t.size || to == t.rank || f.Lane >= wire.Lanes || t.peers[to].end.how != 0 {
		f.Release()
		return
	}
	p := &t.peers[to]
	if len(f.Body) > wire.MaxBody {
		f.Release()
		t.fail(to, errTooLong)
		return
	}
	if p.link.progress == apart && f.Lane == wire.LaneControl && beside(f.Kind) {
		t.putBeside(to, f)
		return
	}
	if t.Open(to); p.end.how != 0 {
		f.Release()
		return
	}
	o := p.lane(f)
	o.queue.push(f)
	p.list(o)
	t.touch(p)
}

// touch records that something may be sent to p.
func (t *Transport) touch(p *pair) {
	if p.dirty || p.end.how != 0 {
		return
	}
	p.dirty = true
	t.dirty = append(t.dirty, p)
	if len(t.dirty) == 1 {
		t.park.pending.Store(true)
	}
}

// Taken implements [wire.Taker]. It counts bytes.
func (t *Transport) Taken(to int) uint64 { return t.peers[to].taken }
