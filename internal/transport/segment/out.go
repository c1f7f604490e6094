//go:build linux

package segment

import (
	"fmt"
	"sync/atomic"

	"github.com/schedgen/schedgen/runtime/wire"
)

// outbound is the sending end of one lane to one rank.
type outbound struct {
	line   *laneLine
	rings  rings
	cells  uint64 // number of cells written
	lines  uint32 // number of lines written in the ring of bytes
	read   uint32 // cells and lines that were read at the last check
	freed  uint32
	queue  queue
	offset int  // bytes of the first queued frame that are written
	cut    bool // the frame that was begun must be called off

	comm   uint8 // on LaneOps: the lane's communicator
	open   bool  // for a further communicator: it is in use, and the receiver knows
	ending bool  // for a further communicator: it will be closed when everything is written
}

// Put implements [wire.Transport]. It writes at once if there is room.
func (t *Transport) Put(to int, f *wire.Frame) {
	if to < 0 || to >= t.size || to == t.rank || f.Lane >= wire.Lanes || t.closed || t.peers[to].gone {
		f.Release()
		return
	}
	p := &t.peers[to]
	if len(f.Body) > MaxBody {
		f.Release()
		t.loseLater(p, fmt.Errorf("put %d bytes in a frame, at most %d fit", len(f.Body), MaxBody))
		return
	}
	o, err := t.lane(p, f)
	if err != nil {
		f.Release()
		t.fault(err)
		return
	}
	if n, ok := o.room(f); ok && o.idle() && n == len(f.Body) { // without queueing
		o.write(f, n, &t.stats)
		o.offset = 0
		f.Release()
		t.announce(p.rank)
		return
	}
	o.queue.push(f)
	t.flush(p)
}

// idle reports whether everything is written.
func (o *outbound) idle() bool { return o.queue.n == 0 && !o.cut }

// unwritten returns the bytes that are not written, plus 1 for each frame.
func (o *outbound) unwritten() int {
	if o.cut {
		return 1
	}
	n := o.queue.n - o.offset
	for i := range o.queue.n {
		n += len(o.queue.at(i).Body)
	}
	return n
}

// flush writes queued frames for p while there is room, and reports whether it has written
// anything.
func (t *Transport) flush(p *peer) bool {
	moved := false
	for lane := range p.out {
		if o := &p.out[lane]; !o.idle() {
			moved = t.flushLane(p, o) || moved
		}
	}
	if p.more != nil {
		moved = t.flushFurther(p) || moved
	}
	return moved
}

func (t *Transport) flushLane(p *peer, o *outbound) bool {
	wrote := false
	for !o.idle() {
		n, ok := o.next()
		if !ok {
			// Load the receiver's line only now.
			if err := o.refresh(); err != nil {
				t.loseLater(p, err)
				break
			}
			n, ok = o.next()
		}
		if !ok {
			if o.await() {
				break
			}
			continue
		}
		wrote = true
		if o.cut {
			o.callOff()
		} else if o.write(o.queue.first(), n, &t.stats) {
			o.queue.pop()
			o.offset = 0
		}
		t.announce(p.rank)
	}
	return wrote
}

// refresh loads how far the receiver has read.
func (o *outbound) refresh() error {
	both := atomic.LoadUint64(&o.line.read)
	read, freed := uint32(both>>32), uint32(both)
	if uint32(o.cells)-read > uint32(o.cells)-o.read || o.lines-freed > o.lines-o.freed {
		return fmt.Errorf("%w: it has read up to cell %d and line %d, but %d and %d were written", errBroken, read, freed, uint32(o.cells), o.lines)
	}
	o.read, o.freed = read, freed
	return nil
}

// next returns how many bytes of the next frame can be written now; ok is false if it is better to
// wait.
func (o *outbound) next() (n int, ok bool) {
	if o.cut {
		return 0, o.free()
	}
	return o.room(o.queue.first())
}

// free reports whether there is a free cell.
func (o *outbound) free() bool { return uint32(o.cells)-o.read != uint32(len(o.rings.cells)) }

// room is next for frame f.
func (o *outbound) room(f *wire.Frame) (n int, ok bool) {
	if !o.free() {
		return 0, false
	}
	rest := len(f.Body) - o.offset
	if o.offset == 0 && rest <= shortBody {
		return rest, true
	}
	piece := min(rest, len(o.rings.bytes)/4)
	free := int(o.rings.lines()-(o.lines-o.freed)) * lineSize
	return piece, free >= piece
}

// await asks the receiver to ring when it has read something. It returns false if it has by now.
func (o *outbound) await() bool {
	store32(&o.line.waiting, 1)
	both := atomic.LoadUint64(&o.line.read)
	return uint32(both>>32) == o.read && uint32(both) == o.freed
}

// callOff writes that the current frame is called off.
func (o *outbound) callOff() {
	o.cut = false
	c := o.rings.cell(o.cells)
	c.content = content{flags: flagCut}
	c.publish(o.cells)
	o.cells++
}

// write writes the next n bytes of f and reports whether they were the last.
func (o *outbound) write(f *wire.Frame, n int, stats *wire.Stats) (last bool) {
	c := o.rings.cell(o.cells)
	c.encode(&f.Header, len(f.Body))
	c.flags, c.inline, c.piece = 0, 0, 0
	if o.offset == 0 {
		c.flags = flagFirst
	}
	if len(f.Body) <= shortBody {
		c.inline = uint8(copy(c.short[:], f.Body))
	} else {
		c.piece = uint32(n)
		o.rings.copyIn(o.lines, f.Body[o.offset:o.offset+n])
		o.lines += lines(n)
	}
	c.publish(o.cells)
	o.cells++
	o.offset += n
	if o.offset < len(f.Body) {
		return false
	}
	stats.PutFrames++
	stats.PutBytes += uint64(o.offset)
	return true
}

// abandon drops queued frames.
func (o *outbound) abandon() {
	if o.offset > 0 {
		o.cut = true
	}
	o.offset = 0
	o.queue.clear()
}

// Abandon implements [wire.Transport].
func (t *Transport) Abandon(comm uint8) {
	for rank := range t.peers {
		p := &t.peers[rank]
		if p.rank == t.rank || p.gone {
			continue
		}
		if comm == 0 {
			p.out[wire.LaneOps].abandon()
		} else if p.more != nil && p.more.out[comm] != nil {
			p.more.out[comm].abandon()
		}
		t.flush(p)
	}
	t.mine.abandon(comm)
	t.blocked.Store(t.mine.queue.n > 0)
}
