//go:build linux

package shm

import (
	"sync/atomic"

	"github.com/schedgen/schedgen/runtime/wire"
)

// reader is the receiving end of one rank's multicasts.
type reader struct {
	line  *castLine
	rings rings
	place *uint64
	cells uint64  // read
	now   content // the cell being looked at
	head  wire.Header
	held  bool // the sink has said not yet
	shown bool // it was counted when it was offered for the first time
}

// hear hands to s what p has multicast and reports whether anything was read.
func (t *Transport) hear(p *peer, s wire.Sink) bool {
	r := &p.cast
	start := r.cells
	r.held = false
	for n := 0; n < turn && r.written(t); n++ {
		store64(r.place, r.cells<<1|1)
		if atomic.LoadUint64(&r.line.floor) > r.cells {
			store64(r.place, r.cells<<1)
			continue // which lapped sees to
		}
		r.now = r.rings.cell(r.cells).content
		if t.offer(p, s) == wire.Hold {
			store64(r.place, r.cells<<1)
			r.held = true
			break
		}
		r.advance(r.cells + 1)
	}
	if r.cells == start {
		return false
	}
	if r.cells-start >= turn {
		t.again(p.rank)
	}
	if atomic.LoadUint32(&r.line.waiting) != 0 {
		store32(&r.line.waiting, 0)
		t.ring(p.rank)
	}
	return true
}

// waits reports whether the next cell is there, or a later one in its place.
func (r *reader) waits() bool { return int32(r.rings.cell(r.cells).stamped()-uint32(r.cells)) > 0 }

// written reports whether there is a cell to be read.
func (r *reader) written(t *Transport) bool {
	if r.rings.cell(r.cells).stamped() == uint32(r.cells+1) && atomic.LoadUint64(&r.line.floor) <= r.cells {
		return true
	}
	return r.lapped(t) && r.rings.cell(r.cells).stamped() == uint32(r.cells+1)
}

// lapped reports whether the sender has overtaken this rank, which then goes
// on with what is sent next.
func (r *reader) lapped(t *Transport) bool {
	if atomic.LoadUint64(&r.line.floor) <= r.cells {
		return false
	}
	tail := atomic.LoadUint64(&r.line.tail)
	if tail <= r.cells {
		return false // the sender is about to write the next one
	}
	t.stats.Early += tail - r.cells
	r.advance(tail)
	return true
}

func (r *reader) advance(cells uint64) {
	r.cells, r.shown = cells, false
	store64(r.place, cells<<1)
}

// offer shows a datagram to s: the cell that was copied and a payload that was
// not. Who writes to that against the rules spoils it, no more.
func (t *Transport) offer(p *peer, s wire.Sink) wire.Verdict {
	r := &p.cast
	c := &r.now
	h := &r.head
	h.Lane, h.From = wire.LaneOps, p.rank
	offset, line := c.gram()
	n := int64(c.inline) + int64(c.piece)
	start := int64(line) * lineSize
	if c.decode(h) != nil || int(c.inline) > shortBody-gramHead || c.inline > 0 && c.piece > 0 ||
		n > int64(t.gram) || start+int64(c.piece) > int64(len(r.rings.bytes)) || int64(offset)+n > int64(h.Len) {
		t.stats.Torn++
		return wire.Drop
	}
	payload := r.rings.bytes[start : start+int64(c.piece)]
	if c.inline > 0 {
		payload = c.short[gramHead : gramHead+int(c.inline)]
	}
	if !r.shown {
		r.shown = true
		t.stats.GotDatagrams++
	}
	return s.Fragment(h, offset, payload)
}
