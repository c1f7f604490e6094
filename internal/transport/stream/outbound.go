package stream

import (
	"fmt"
	"sync/atomic"

	"github.com/schedgen/schedgen/runtime/wire"
)

// sender is shared by the connections to peers.
type sender struct {
	dirty   []*outbound // halves with frames that have not been offered to the system
	pending atomic.Bool // the next Poll has something to do; read by Wait without the lock
	iov     vector
	turns   turns
}

// outbound is the half of a connection in which this rank speaks.
type outbound struct {
	*conn
	greets []byte // the greeting, if this rank opens the connection
	begun  bool   // it may have frames
	ending bool   // it gets no more frames
	ended  bool   // the end is sent, or queued
	left   bool   // a goodbye is sent, or queued
	dead   bool   // it is closed

	q       ring
	sent    int    // bytes of the first entry that the system has taken, or that are sealed
	tail    []byte // rest of an abandoned frame, before the first entry
	sealed  sealedOut
	dirty   bool // it is in sender.dirty
	turn    bool // it waits in sender.turns
	sharing bool // sender.turns counts its bytes
	flying  int  // number of the counted bytes
	start   start
}

// speaks reports whether this rank has, or may have, something to say there.
func (o *outbound) speaks() bool { return o.begun && !o.dead && !(o.ended && o.idle()) }

// Put queues f for rank to; see [wire.Transport]. Frames for ranks that have left or are lost are
// dropped.
func (t *Transport) Put(to int, f *wire.Frame) {
	if to < 0 || to >= t.size || to == t.rank || f.Lane >= wire.Lanes || t.closed {
		f.Release()
		return
	}
	p := &t.peers[to]
	if p.end.how != 0 || p.end.told {
		f.Release()
		return
	}
	if len(f.Body) > MaxBody {
		f.Release()
		t.lose(p, fmt.Errorf("tcp: put to rank %d: %d bytes in a frame, at most %d fit", to, len(f.Body), MaxBody))
		return
	}
	i := laneIndex(f.Lane, f.Comm)
	o := p.outbound(i)
	if o == nil {
		var err error
		if o, err = t.begin(p, i); err != nil {
			f.Release()
			t.fault(err)
			return
		}
	}
	o.ending = false
	o.q.pushFrame(f)
	t.mark(o)
}

// open begins to connect to p; puts wait meanwhile.
func (t *Transport) open(p *peer, i int) (*outbound, error) {
	o, err := t.newOutbound(p, i)
	if err == nil {
		t.dialer.dial(o.conn, t.Wake)
	}
	return o, err
}

// newOutbound makes the next connection of a lane to p, without connecting it.
func (t *Transport) newOutbound(p *peer, i int) (o *outbound, err error) {
	p.reach(i)
	c := t.newConn()
	c.p, c.lane = p, i
	g := greeting{id: t.id, rank: t.rank, size: t.size, turn: p.outTurn[i]}
	g.lane, g.comm = laneOf(i)
	if c.out.sealed.line, c.in.sealed.line, err = t.session.Lines(t.rank, p.rank, i, g.turn); err != nil {
		return nil, fmt.Errorf("tcp: open a connection to rank %d: %w", p.rank, err)
	}
	c.out.greets = g.greetingTo(p.rank, t.session)
	p.conns = append(p.conns, c)
	p.take(&c.out)
	return &c.out, nil
}

// mark records that o has something to write.
func (t *Transport) mark(o *outbound) {
	if o.dirty || o.writes || o.turn || o.fd < 0 {
		return
	}
	o.dirty = true
	t.sender.dirty = append(t.sender.dirty, o)
	if len(t.sender.dirty) == 1 {
		t.sender.pending.Store(true)
	}
}

// flushAll writes to the marked halves; the sink may put more meanwhile.
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

// flush writes frames until the system has all or its buffer is full.
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
			o.rewatch(o.reads, true)
			return moved
		}
	}
	if o.writes && !o.dead {
		o.rewatch(o.reads, false)
	}
	if o.ended && o.idle() && o.in.phase == finished {
		t.closeConn(o.conn)
	}
	return moved
}

// write writes once, at most about room bytes. full says that the system has not taken all.
func (t *Transport) write(o *outbound, room int) (n int, full bool, err error) {
	if o.sealed.line != nil {
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

// idle reports whether the system has everything that was queued.
func (o *outbound) idle() bool { return o.q.n == 0 && len(o.tail) == 0 && o.sealed.record.left() == 0 }

// gather collects the next bytes to write, at most about room bytes.
func (o *outbound) gather(v *vector, room int) {
	v.add(o.tail)
	skip := o.sent
	for i := 0; i < o.q.n && !v.full() && v.bytes < room; i++ {
		o.q.at(i).gather(v, skip, room)
		skip = 0
	}
}

// advance removes n bytes, written or sealed, from the queue.
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

// failOut handles a connection that cannot be written. The peer may have said goodbye on it before
// it closed: see hearAll.
func (t *Transport) failOut(o *outbound, cause error) {
	t.unreached(o.p, fmt.Errorf("tcp: send to rank %d at %s: %w", o.p.rank, o.p.addr, cause))
}

// dropOut closes o and drops its queue.
func (t *Transport) dropOut(o *outbound) {
	if o.dead {
		return
	}
	if o.p != nil && o.p.out[o.lane] == o {
		o.p.out[o.lane] = nil
	}
	o.dead, o.tail = true, nil
	o.sealed.record = outRecord{}
	o.q.clear()
	if o.writes {
		o.rewatch(o.reads, false)
	}
}
