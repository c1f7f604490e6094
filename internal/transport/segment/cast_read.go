//go:build linux

package segment

import (
	"math/bits"
	"sync/atomic"

	"github.com/schedgen/schedgen/runtime/wire"
)

// reader is the receiving end of one rank's multicasts.
type reader struct {
	line     *castLine
	rings    rings
	position *uint64
	cells    uint64  // number of cells read
	now      content // the cell being looked at
	head     wire.Header
	held     bool // the sink holds the cell
	// State of the next cells, as bits from cell number cells on. read: the cell has been read
	// although an earlier one of another communicator is held. shown: it has been offered, and
	// counted, before.
	read, shown uint64
}

// hear hands p's multicasts to s and reports whether anything was read.
func (t *Transport) hear(p *peer, s wire.Sink) bool {
	r := &p.cast
	start, passed := r.cells, false
	r.held = false
	for n := 0; n < turn && r.written(t); n++ {
		if r.read&1 != 0 {
			r.advance(r.cells + 1)
			continue
		}
		store64(r.position, r.cells<<1|1)
		if atomic.LoadUint64(&r.line.floor) > r.cells {
			store64(r.position, r.cells<<1)
			continue // handled by lapped
		}
		r.now = r.rings.cell(r.cells).content
		if t.offer(p, 0, s) == wire.Hold {
			passed = t.pass(p, s)
			store64(r.position, r.cells<<1)
			r.held = true
			break
		}
		r.advance(r.cells + 1)
	}
	if r.cells == start {
		return passed
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

// waits reports whether the next cell, or a later one in its place, is there.
func (r *reader) waits() bool { return int32(r.rings.cell(r.cells).stamped()-uint32(r.cells)) > 0 }

// written reports whether there is a cell to read.
func (r *reader) written(t *Transport) bool {
	if r.rings.cell(r.cells).stamped() == uint32(r.cells+1) && atomic.LoadUint64(&r.line.floor) <= r.cells {
		return true
	}
	return r.lapped(t) && r.rings.cell(r.cells).stamped() == uint32(r.cells+1)
}

// lapped reports whether the sender has overtaken this rank, which then continues with the next
// multicast.
func (r *reader) lapped(t *Transport) bool {
	if atomic.LoadUint64(&r.line.floor) <= r.cells {
		return false
	}
	tail := atomic.LoadUint64(&r.line.tail)
	if tail <= r.cells {
		return false // the sender is about to write the next one
	}
	t.stats.Early += tail - r.cells - uint64(bits.OnesCount64(r.read))
	r.advance(tail)
	return true
}

func (r *reader) advance(cells uint64) {
	by := cells - r.cells
	r.cells, r.read, r.shown = cells, r.read>>by, r.shown>>by
	store64(r.position, cells<<1)
}

// pass offers to s the cells of other communicators behind the held cell. The writer sees that the
// held cell is being read, and overwrites nothing from there on.
func (t *Transport) pass(p *peer, s wire.Sink) (moved bool) {
	r := &p.cast
	var held [comms / 64]uint64
	hold := func() { held[r.now.comm/64] |= 1 << (r.now.comm % 64) }
	hold()
	for i := range min(uint64(len(r.rings.cells)), 64) {
		c := r.rings.cell(r.cells + i)
		if c.stamped() != uint32(r.cells+i+1) {
			break
		}
		comm := c.comm
		if held[comm/64]&(1<<(comm%64)) != 0 || r.read&(1<<i) != 0 {
			continue
		}
		if r.now = c.content; t.offer(p, i, s) == wire.Hold {
			hold()
			continue
		}
		r.read |= 1 << i
		moved = true
	}
	return moved
}

// offer offers datagram r.cells+i to s: a copy of the cell, and the payload in place. A process
// that breaks the rules and writes to the payload can only corrupt it.
func (t *Transport) offer(p *peer, i uint64, s wire.Sink) wire.Verdict {
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
	if r.shown&(1<<i) == 0 {
		r.shown |= 1 << i
		t.stats.GotDatagrams++
	}
	return s.Fragment(h, offset, payload)
}
