//go:build linux

package segment

import (
	"sync/atomic"
	"time"

	"github.com/schedgen/schedgen/runtime/wire"
)

// grace is how long a multicast waits for late readers before it overwrites datagrams that they
// have not read.
const grace = 5 * time.Millisecond

// caster is the sending end of this rank's multicasts. It writes a datagram once, into a ring from
// which all other ranks read it in place. Multicasts are unreliable: the writer overtakes a reader
// that does not advance for a while, but never overwrites the datagram that the reader is reading.
// The writer first raises the floor and then checks for readers below it; a reader first announces
// that it reads and then checks the floor.
type caster struct {
	line      *castLine
	rings     rings
	positions []*uint64 // of the readers, by rank
	late      []bool    // readers that are no longer waited for
	starts    []uint64  // cell, modulo their number -> lines before its payload
	cells     uint64    // number of cells written
	lines     uint64
	floor     uint64 // as in line
	unread    uint64 // a floor below which no reader reads any more
	queue     queue
	offset    int // bytes of the first queued frame that are written

	anyLate bool
	slowest uint64    // cells that the slowest reader had read at the last check
	since   time.Time // start of the wait for the slowest reader; zero: no wait
}

// Mcast implements [wire.Transport]. It writes at once if there is room.
func (t *Transport) Mcast(f *wire.Frame) {
	if t.closed || t.size == 1 || len(f.Body) > MaxBody {
		f.Release()
		return
	}
	t.mine.queue.push(f)
	t.cast()
}

// Datagram implements [wire.Transport]. It drops f, since puts are never lost in shared memory.
func (t *Transport) Datagram(_ int, f *wire.Frame) { f.Release() }

// cast writes queued frames as far as the readers have advanced, and reports whether it has written
// anything.
func (t *Transport) cast() bool {
	m := &t.mine
	wrote := false
	for m.queue.n > 0 {
		body := m.queue.first().Body
		n := min(len(body)-m.offset, t.gram)
		line, floor := m.next(n)
		if floor > m.unread && !t.raise(floor) {
			if t.wait(floor) {
				break
			}
			if !t.overtake(floor) { // a reader reads there now
				t.stats.Unsendable++
				t.step(n)
				continue
			}
		}
		m.since = time.Time{}
		t.writeGram(n, line)
		t.step(n)
		wrote = true
	}
	t.blocked.Store(m.queue.n > 0)
	if wrote {
		for rank := range t.peers {
			if rank != t.rank && !t.peers[rank].gone {
				t.announce(rank)
			}
		}
	}
	return wrote
}

// next returns the line in the ring of bytes where a payload of n bytes begins without wrapping
// around, and the cell up to which this overwrites all cells.
func (m *caster) next(n int) (line, floor uint64) {
	line = m.lines
	ring, need := uint64(m.rings.lines()), uint64(lines(n))
	if n <= shortBody-gramHead {
		need = 0
	}
	if line%ring+need > ring {
		line += ring - line%ring
	}
	floor, count := m.floor, uint64(len(m.starts))
	if m.cells >= count {
		floor = max(floor, m.cells+1-count)
	}
	for floor < m.cells && line+need-m.starts[floor%count] > ring {
		floor++
	}
	return line, floor
}

// raise raises the floor if all readers that are waited for are beyond it.
func (t *Transport) raise(floor uint64) bool {
	m := &t.mine
	if m.slowest >= floor && !m.anyLate {
		t.setFloor(floor)
		m.unread = floor
		return true
	}
	slowest := m.cells
	m.anyLate = false
	for rank, position := range m.positions {
		if rank == t.rank || t.peers[rank].gone {
			continue
		}
		read := atomic.LoadUint64(position) >> 1
		if read >= m.floor {
			m.late[rank] = false
		}
		if m.late[rank] {
			m.anyLate = true
		} else {
			slowest = min(slowest, read)
		}
	}
	if slowest > m.slowest {
		m.since = time.Time{}
	}
	m.slowest = slowest // less than before if a late reader has caught up
	return slowest >= floor && t.overtake(floor)
}

// wait reports whether to wait longer for the slowest reader.
func (t *Transport) wait(floor uint64) bool {
	m := &t.mine
	now := t.clock.Now()
	if m.since.IsZero() {
		m.since = now
	}
	if now.Sub(m.since) < grace {
		store32(&m.line.waiting, 1)
		return !t.raise(floor)
	}
	for rank, position := range m.positions {
		if rank == t.rank {
			continue
		}
		if read := atomic.LoadUint64(position) >> 1; read < floor {
			m.late[rank], m.anyLate = true, true
		}
	}
	return false
}

// overtake raises the floor over readers below it, and reports whether none of them reads there
// now.
func (t *Transport) overtake(floor uint64) bool {
	t.setFloor(floor)
	for rank, position := range t.mine.positions {
		if rank == t.rank || t.peers[rank].gone {
			continue
		}
		if at := atomic.LoadUint64(position); at&1 != 0 && at>>1 < floor {
			return false
		}
	}
	t.mine.unread = floor
	return true
}

func (t *Transport) setFloor(floor uint64) {
	t.mine.floor = floor
	store64(&t.mine.line.floor, floor)
}

// writeGram writes the next n bytes of the first frame as a datagram.
func (t *Transport) writeGram(n int, line uint64) {
	m := &t.mine
	f := m.queue.first()
	payload := f.Body[m.offset : m.offset+n]
	c := m.rings.cell(m.cells)
	store32(&c.stamp, 0)
	c.encode(&f.Header, len(f.Body))
	c.setGram(m.offset, uint32(line%uint64(m.rings.lines())))
	c.flags, c.inline, c.piece = flagFirst, 0, 0
	if n <= shortBody-gramHead {
		c.inline = uint8(copy(c.short[gramHead:], payload))
	} else {
		c.piece = uint32(n)
		m.rings.copyIn(uint32(line), payload)
		line += uint64(lines(n))
	}
	m.starts[m.cells%uint64(len(m.starts))] = line - uint64(lines(int(c.piece)))
	m.lines = line
	c.publish(m.cells)
	m.cells++
	store64(&m.line.tail, m.cells)
	t.stats.McastFrames++
	t.stats.McastBytes += uint64(n)
}

// step advances past the next n bytes of the first frame.
func (t *Transport) step(n int) {
	m := &t.mine
	m.offset += n
	if m.offset == len(m.queue.first().Body) {
		m.queue.pop()
		m.offset = 0
	}
}

// abandon drops queued frames of a communicator.
func (m *caster) abandon(comm uint8) {
	if m.queue.n > 0 && m.queue.first().Comm == comm {
		m.offset = 0
	}
	m.queue.abandon(comm)
}

// empty drops all queued frames.
func (m *caster) empty() {
	m.queue.clear()
	m.offset = 0
}
