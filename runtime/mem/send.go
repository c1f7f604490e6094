package mem

import (
	"slices"

	"github.com/schedgen/schedgen/runtime/wire"
)

// Put implements [wire.Transport].
func (t *Transport) Put(to int, f *wire.Frame) {
	k := keyOf(to, &f.Header)
	if t.closed || t.left[to] {
		sent(f)
		return
	}
	q := t.out.at(k)
	if q.n == 0 {
		t.pending = append(t.pending, k)
	}
	*q.grow() = *f
}

func sent(f *wire.Frame) {
	f.Release()
	*f = wire.Frame{}
}

// flush moves queued frames into the lanes of their receivers and reports whether any moved.
func (t *Transport) flush() bool {
	moved := false
	kept := t.pending[:0]
	for _, k := range t.pending {
		if t.flushLane(k) {
			moved = true
		}
		if t.out.at(k).n > 0 {
			kept = append(kept, k)
		}
	}
	t.pending = kept
	return moved
}

// queued returns the number of frames that are still queued here.
func (t *Transport) queued() (n int) {
	for _, k := range t.pending {
		n += t.out.at(k).n
	}
	return n
}

func (t *Transport) flushLane(k key) bool {
	q := t.out.at(k)
	peer := t.all[k.peer]
	before := q.n
	peer.in.mu.Lock()
	l := peer.in.lanes.at(key{t.rank, k.comm, k.lane})
	for q.n > 0 && (peer.in.closed || l.entries.n == 0 || l.entries.n < t.o.Link && l.bytes < t.o.LinkBytes) {
		f := q.at(0)
		if !peer.in.closed {
			t.deliver(peer, l, f)
		}
		sent(f)
		q.drop()
	}
	l.waiting = q.n > 0
	peer.in.mu.Unlock()
	if q.n == before {
		return false
	}
	peer.Wake()
	return true
}

func (t *Transport) deliver(peer *Transport, l *lane, f *wire.Frame) {
	if l.entries.n == 0 {
		peer.in.ready = append(peer.in.ready, keyOf(t.rank, &f.Header))
	}
	ready := peer.in.pass(t.putArrival(), t.o.takes(peer.rank, len(f.Body)))
	if l.entries.n > 0 {
		ready = max(ready, l.entries.at(l.entries.n-1).ready)
	}
	e := l.entries.grow()
	e.header, e.ready = f.Header, ready
	e.header.From = t.rank
	e.body = append(e.body[:0], f.Body...)
	l.bytes += len(f.Body)
	t.stats.PutFrames++
	t.stats.PutBytes += uint64(len(f.Body))
}

// Mcast implements [wire.Transport]. It sends at once; a receiver without room loses the datagram.
func (t *Transport) Mcast(f *wire.Frame) {
	to := t.groups[f.Comm]
	t.cut(f, func(offset int, payload []byte) {
		t.stats.McastFrames++
		t.stats.McastBytes += uint64(len(payload))
		for _, peer := range t.all {
			if peer != t {
				t.throw(peer, to, &f.Header, offset, payload)
			}
		}
	})
}

// Datagram implements [wire.Transport]. It sends like Mcast.
func (t *Transport) Datagram(to int, f *wire.Frame) {
	t.cut(f, func(offset int, payload []byte) {
		t.stats.DatagramFrames++
		t.throw(t.all[to], nil, &f.Header, offset, payload)
	})
}

// cut cuts f into datagrams, unless all would be lost.
func (t *Transport) cut(f *wire.Frame, send func(offset int, payload []byte)) {
	f.Len = f.Whole()
	for offset := 0; !t.o.NoMulticast && !t.closed; {
		end := min(offset+t.o.Datagram, len(f.Body))
		send(f.Offset+offset, f.Body[offset:end])
		if offset = end; offset == len(f.Body) {
			break
		}
	}
	f.Release()
}

// throw sends one datagram to one receiver, if it is in the group to, with the network's faults.
// The faults are drawn from the sender's source, so each sender draws the same in every run. The
// scheduling of goroutines decides which datagrams the faults hit; package internal/simnet repeats
// whole runs.
func (t *Transport) throw(peer *Transport, to *group, h *wire.Header, offset int, payload []byte) {
	copies := 1
	if t.random.Float64() < t.o.Loss {
		copies = 0
	} else if t.random.Float64() < t.o.Duplicate {
		copies = 2
	}
	overtaken := t.random.Float64() < t.o.Reorder
	peer.in.mu.Lock()
	defer peer.in.mu.Unlock()
	if peer.in.closed || !peer.hears(to) {
		return
	}
	if copies == 0 {
		t.stats.Injected++
	}
	for range copies {
		if peer.in.grams.n >= t.o.Queue {
			t.stats.Early++
			continue
		}
		e := peer.in.grams.grow()
		e.header, e.offset, e.ready = *h, offset, peer.in.pass(t.arrival(), t.o.takes(peer.rank, len(payload)))
		e.header.From = t.rank
		e.body = append(e.body[:0], payload...)
		if n := peer.in.grams.n; overtaken && n > 1 {
			last, before := peer.in.grams.at(n-1), peer.in.grams.at(n-2)
			*last, *before = *before, *last
		}
		peer.Wake()
	}
}

// Abandon implements [wire.Transport].
func (t *Transport) Abandon(comm uint8) {
	t.pending = slices.DeleteFunc(t.pending, func(k key) bool {
		if k.comm != comm || k.lane != wire.LaneOps {
			return false
		}
		for q := t.out.at(k); q.n > 0; q.drop() {
			sent(q.at(0))
		}
		return true
	})
}

// Forget implements [wire.Transport]. It keeps the communicator's lanes, which only hold memory,
// until its number is reused.
func (t *Transport) Forget(uint8) {}
