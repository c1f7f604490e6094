package stream

import (
	"fmt"
	"sync/atomic"

	"github.com/schedgen/schedgen/runtime/internal/seal"
	"github.com/schedgen/schedgen/runtime/wire"
)

// sender is what connections to peers share.
type sender struct {
	dirty   []*outbound // have frames that have not been offered to the system
	pending atomic.Bool // the next Poll has something to do; for Wait, which has no lock
	iov     vector
	turns   turns
}

// outbound is a connection that this rank has opened. The peer writes on it
// only to say goodbye.
type outbound struct {
	p     *peer
	lane  int   // its index in peer.out
	fd    int   // -1 until connected, and again when closed
	token int32 // -1 likewise
	dead  bool

	greets []byte // what opens it
	sealed sealedOut

	q       ring
	sent    int    // bytes of the first entry that the system has taken, or are sealed
	tail    []byte // what is left of an abandoned frame, before the first entry
	dirty   bool   // in sender.dirty
	blocked bool   // the system's buffer is full; watched for writing
	turn    bool   // waits in sender.turns
	sharing bool   // has bytes that sender.turns counts
	flying  int    // how many
	start   start
	ending  bool // its communicator is closed
	ended   bool // and that is said

	back  [recordLen + seal.RecordOver]byte // what the peer has written
	nback int
}

// Put queues f for rank to; see [wire.Transport]. Frames for ranks that
// have left or are lost are dropped.
func (t *Transport) Put(to int, f *wire.Frame) {
	if to < 0 || to >= t.size || to == t.rank || f.Lane >= wire.Lanes || t.closed {
		discard(f)
		return
	}
	p := &t.peers[to]
	if p.end.how != 0 || p.end.told {
		discard(f)
		return
	}
	if len(f.Body) > MaxBody {
		discard(f)
		t.lose(p, fmt.Errorf("tcp: put to rank %d: %d bytes in a frame, at most %d fit", to, len(f.Body), MaxBody))
		return
	}
	i := laneIndex(f.Lane, f.Comm)
	o := p.outbound(i)
	if o == nil {
		var err error
		if o, err = t.open(p, i); err != nil {
			discard(f)
			t.fault(err)
			return
		}
	}
	o.ending, o.ended = false, false
	o.q.pushFrame(f)
	t.mark(o)
}

// open begins to connect to p; what is put meanwhile waits.
func (t *Transport) open(p *peer, i int) (*outbound, error) {
	o, err := t.newOutbound(p, i)
	if err == nil {
		t.dialer.dial(o, t.Wake)
	}
	return o, err
}

// newOutbound makes the next connection of a lane to p, without connecting it.
func (t *Transport) newOutbound(p *peer, i int) (o *outbound, err error) {
	p.reach(i)
	o = &outbound{p: p, lane: i, fd: -1, token: -1}
	g := greeting{id: t.id, rank: t.rank, size: t.size, turn: p.outTurn[i]}
	g.lane, g.comm = laneOf(i)
	if o.sealed.out, o.sealed.in, err = t.session.Lines(t.rank, p.rank, i, g.turn); err != nil {
		return nil, fmt.Errorf("tcp: open a connection to rank %d: %w", p.rank, err)
	}
	o.greets = g.greetingTo(p.rank, t.session)
	p.out[i] = o
	p.outTurn[i]++
	return o, nil
}

// mark notes that o has something to write.
func (t *Transport) mark(o *outbound) {
	if o.dirty || o.blocked || o.turn || o.fd < 0 {
		return
	}
	o.dirty = true
	t.sender.dirty = append(t.sender.dirty, o)
	if len(t.sender.dirty) == 1 {
		t.sender.pending.Store(true)
	}
}

// flushAll writes what has been marked; the sink may put more meanwhile.
func (t *Transport) flushAll(s wire.Sink) (moved bool) {
	if len(t.sender.turns.queue) > 0 {
		moved = t.serveTurns(s)
	}
	if len(t.sender.dirty) == 0 {
		return moved
	}
	for i := 0; i < len(t.sender.dirty); i++ {
		o := t.sender.dirty[i]
		o.dirty = false
		moved = t.flush(o, s) || moved
	}
	t.sender.dirty = t.sender.dirty[:0]
	t.sender.pending.Store(t.tells())
	return moved
}

// flush writes frames until all are with the system or its buffer is full.
func (t *Transport) flush(o *outbound, s wire.Sink) (moved bool) {
	for !o.dead && !o.turn && o.more() {
		room := t.sender.turns.room(o)
		if room == 0 {
			t.sender.turns.await(o)
			break
		}
		n, full, err := t.write(o, room)
		if err != nil && !again(err) {
			t.failOut(o, err)
			return moved
		}
		if o.lane != int(wire.LaneControl) {
			o.p.taken += uint64(n)
		}
		t.sender.turns.wrote(o, n)
		moved = moved || n > 0
		if full {
			t.block(o, true)
			return moved
		}
	}
	if o.blocked && !o.dead {
		t.block(o, false)
	}
	if o.ended && o.idle() && !o.dead {
		t.closeOut(o)
	}
	return moved
}

// write writes once, about room bytes at most. full says that the system has not taken
// all.
func (t *Transport) write(o *outbound, room int) (n int, full bool, err error) {
	if o.sealed.out != nil {
		return t.writeSealed(o, room)
	}
	v := &t.sender.iov
	o.gather(v, room)
	n, err = v.write(o.fd)
	full = n < v.bytes
	v.reset()
	t.advance(o, n)
	return n, full, err
}

// Taken implements [wire.Taker], in bytes.
func (t *Transport) Taken(to int) uint64 { return t.peers[to].taken }

// idle reports whether the system has all that was queued.
func (o *outbound) idle() bool { return o.q.n == 0 && len(o.tail) == 0 && o.sealed.record.left() == 0 }

// gather collects what is to be written next, about room bytes at most.
func (o *outbound) gather(v *vector, room int) {
	v.add(o.tail)
	skip := o.sent
	for i := 0; i < o.q.n && !v.full() && v.bytes < room; i++ {
		o.q.at(i).gather(v, skip, room)
		skip = 0
	}
}

// advance takes n bytes, written or sealed, off the queue.
func (t *Transport) advance(o *outbound, n int) {
	k := min(n, len(o.tail))
	o.tail, n = o.tail[k:], n-k
	for n > 0 {
		e := o.q.at(0)
		rest := e.len() - o.sent
		if n < rest {
			o.sent += n
			return
		}
		n -= rest
		o.sent = 0
		if isFrame(&e.head) {
			t.stats.PutFrames++
			t.stats.PutBytes += uint64(len(e.body))
		}
		o.q.pop()
	}
}

// block starts or ends waiting for room in the system's buffer.
func (t *Transport) block(o *outbound, full bool) {
	if o.blocked == full {
		return
	}
	o.blocked = full
	if err := t.reactor.Modify(o.fd, o.token, true, full); err != nil {
		t.lose(o.p, fmt.Errorf("tcp: send to rank %d: %w", o.p.rank, err))
	}
}

// failOut handles a connection that cannot be written. The peer may have said
// goodbye on it before it closed.
func (t *Transport) failOut(o *outbound, cause error) {
	_ = t.hear(o) // the system tells why a connection has failed once, and did so to the write
	if !o.dead {
		t.unreached(o.p, fmt.Errorf("tcp: send to rank %d at %s: %w", o.p.rank, o.p.addr, cause))
	}
}

// Ready implements [reactor.Source].
func (o *outbound) Ready(s wire.Sink, read, write bool) (moved bool) {
	t := o.p.t
	if read {
		t.readBack(o)
	}
	if write && !o.dead {
		moved = t.flush(o, s)
	}
	return moved
}

// readBack reads the direction that carries nothing but a goodbye.
func (t *Transport) readBack(o *outbound) {
	err := t.hear(o)
	switch {
	case err == nil:
	case t.parting.now && o.idle():
		t.closeOut(o) // the peer has read the goodbye; the other lane may have more
	default:
		t.unreached(o.p, fmt.Errorf("tcp: connection to rank %d at %s: %w", o.p.rank, o.p.addr, err))
	}
}

// hear takes what the peer has written; it fails if no more can come.
func (t *Transport) hear(o *outbound) error {
	b := o.back[:o.sealed.backLen()]
	n, err := read(o.fd, b[o.nback:])
	if o.nback += n; o.nback == len(b) {
		t.tellBack(o)
		return nil
	}
	if err != nil && !again(err) {
		return err
	}
	return nil
}

func (t *Transport) tellBack(o *outbound) {
	var h wire.Header
	r, err := t.openBack(o)
	if err == nil {
		err = decodeHeader(r, &h)
	}
	if err == nil && h.Kind != kindGoodbye {
		err = fmt.Errorf("%w: only a goodbye may come in this direction", errNoFrame)
	}
	if err != nil {
		t.lose(o.p, fmt.Errorf("tcp: connection to rank %d at %s: %w", o.p.rank, o.p.addr, err))
		return
	}
	t.heard(o.p, h.Arg)
}

// closeOut gives o up with all that is queued.
func (t *Transport) closeOut(o *outbound) {
	o.p.out[o.lane] = nil
	o.dead, o.tail = true, nil
	o.sealed.record = outRecord{}
	o.q.clear()
	if o.fd >= 0 {
		t.reactor.Unwatch(o.fd, o.token)
		closeFD(o.fd)
	}
	o.fd, o.token = -1, -1
}
