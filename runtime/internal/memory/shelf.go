//go:build linux

package memory

import (
	"math"
	"sync/atomic"
	"unsafe"

	"github.com/schedgen/schedgen/runtime/wire"
)

// A chunk that others collect is in the line of its flag if it is short, in the room of that line,
// in the same window, if it fits there, and else in its rank's own memory, of which the line
// has the address.

// lendFrom is how long a chunk is, in bytes, that may be lent. A system call copies it, which looks at
// every page, and whoever lends it waits until all have collected it. Where ranks share cores that takes
// them turns of a core: there it is lent only if its message is longer than the ring of a lane, so that
// to put it one would have to wait too.
const lendFrom = 16 << 10

// tally belongs to a line in which chunks stand.
type tally struct {
	left uint32 // ranks that have still to collect the chunk that is lent there
	_    [lineSize - 4]byte
}

// passedLine tells how far a rank has come.
type passedLine struct {
	seq uint64 // wire.Shelves.Passed
	_   [lineSize - 8]byte
}

// shelf is what a rank has to do with the chunks that stand in its window.
type shelf struct {
	last    [wire.ChunkLines]uint64 // the operation that a line was written for last
	freed   uint64                  // all have passed the operations up to this one
	loan    loan
	crowded bool   // there are more ranks than cores
	lender  []bool // ranks, of those that can collect what is lent
}

// Lay implements [wire.Shelves].
func (t *Transport) Lay(line int, to []int, f wire.Flag, body []byte, whole int) (lent, ok bool) {
	k := line - wire.ChunkLine
	if t.closed || !t.vacant(k) {
		return false, false
	}
	l := &t.peers[t.rank].window[line]
	switch {
	case len(body) <= wire.ShortChunk:
		copy(l.Short[:], body)
	case len(body) <= t.room:
		copy(t.roomOf(t.rank, k), body)
	case len(body) < lendFrom || t.shelf.crowded && whole <= t.lanes[wire.LaneOps].bytes || !t.mayLend(to):
		return false, false
	default:
		*(*uint64)(unsafe.Pointer(&l.Short)) = uint64(uintptr(unsafe.Pointer(unsafe.SliceData(body))))
		store32(&t.tally(t.rank, k).left, uint32(len(to)))
		t.stats.Lent++
		lent = true
	}
	t.shelf.last[k] = f.Seq
	l.Write(f)
	t.stats.Flags++
	for _, rank := range to {
		t.alert(&t.peers[rank])
	}
	return lent, true
}

// vacant reports whether nobody looks any more at what stands in line k of chunks. It reads what the
// others tell only if what they told before does not do.
func (t *Transport) vacant(k int) bool {
	s := &t.shelf
	if s.last[k] > s.freed {
		s.freed = t.passedByAll()
	}
	return s.last[k] <= s.freed
}

// passedByAll returns up to which operation all have come that have not left.
func (t *Transport) passedByAll() uint64 {
	least := uint64(math.MaxUint64)
	for rank := range t.peers {
		if p := &t.peers[rank]; rank != t.rank && !p.gone {
			least = min(least, atomic.LoadUint64(&t.passed(rank).seq))
		}
	}
	return least
}

// Passed implements [wire.Shelves].
func (t *Transport) Passed(seq uint64) { store64(&t.passed(t.rank).seq, seq) }

// Collect implements [wire.Shelves].
func (t *Transport) Collect(rank, line int, f wire.Flag, dst []byte) bool {
	p, k := &t.peers[rank], line-wire.ChunkLine
	l := &p.window[line]
	switch {
	case len(dst) <= wire.ShortChunk:
		copy(dst, l.Short[:])
	case len(dst) <= t.room:
		copy(dst, t.roomOf(rank, k))
	default:
		address := *(*uint64)(unsafe.Pointer(&l.Short))
		if !t.fetch(p, address, dst) || !l.Holds(f) {
			return false
		}
		if atomic.AddUint32(&t.tally(rank, k).left, ^uint32(0)) == 0 {
			t.alert(p)
		}
	}
	return true
}

// Collected implements [wire.Shelves].
func (t *Transport) Collected(line int) bool {
	return atomic.LoadUint32(&t.tally(t.rank, line-wire.ChunkLine).left) == 0
}

// Revoke implements [wire.Shelves].
func (t *Transport) Revoke(line int) { t.peers[t.rank].window[line].Write(wire.Flag{}) }
