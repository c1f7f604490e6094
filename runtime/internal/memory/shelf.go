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

// shelf is what a rank has to do with chunks that are lent, in whatever window.
type shelf struct {
	loan    loan
	crowded bool   // there are more ranks than cores
	lender  []bool // ranks, of those that can collect what is lent
}

// Lay implements [wire.Shelves].
func (w *Windows) Lay(line int, to []int, f wire.Flag, body []byte, whole int) (lent, ok bool) {
	t, k := w.t, line-wire.ChunkLine
	switch {
	case t.closed:
		return false, false
	case w.last[k] == f.Seq:
		return false, true // it stands there
	case !w.vacant(k):
		return false, false
	}
	l := &w.own[line]
	switch {
	case len(body) <= wire.ShortChunk:
		copy(l.Short[:], body)
	case len(body) <= w.room:
		copy(w.roomOf(t.rank, k), body)
	case len(body) < lendFrom || t.shelf.crowded && whole <= t.lanes[wire.LaneOps].bytes || !t.mayLend(to):
		return false, false
	default:
		*(*uint64)(unsafe.Pointer(&l.Short)) = uint64(uintptr(unsafe.Pointer(unsafe.SliceData(body))))
		store32(&w.tally(t.rank, k).left, uint32(len(to)))
		t.stats.Lent++
		lent = true
	}
	w.last[k] = f.Seq
	l.Write(f)
	t.stats.Flags++
	for _, rank := range to {
		t.alert(&t.peers[rank])
	}
	if !lent && len(body) > wire.ShortChunk && !t.shelf.crowded {
		w.fetchRoom((k+1)%wire.ChunkLines, len(body))
	}
	return lent, true
}

// fetchRoom has the cache of this core take what the next chunk will be written to from those of its last readers,
// if they have done with it, while the others read this one: 2 KiB to one rank take 0.75 µs in place of 1.15. Where ranks share cores
// the time is better left to another.
func (w *Windows) fetchRoom(k, n int) {
	if w.last[k] > w.freed {
		return
	}
	room := w.roomOf(w.t.rank, k)[:n]
	for i := 0; i < n; i += lineSize {
		room[i] = 0
	}
}

// vacant reports whether nobody looks any more at what stands in line k of chunks. It reads what the
// others tell only if what they told before does not do.
func (w *Windows) vacant(k int) bool {
	if w.last[k] > w.freed {
		w.freed = w.passedByAll()
	}
	return w.last[k] <= w.freed
}

// passedByAll returns up to which operation all have come that have not left.
func (w *Windows) passedByAll() uint64 {
	least := uint64(math.MaxUint64)
	for _, rank := range w.others {
		if !w.t.peers[rank].gone {
			least = min(least, atomic.LoadUint64(&w.passed(rank).seq))
		}
	}
	return least
}

// Passed implements [wire.Shelves].
func (w *Windows) Passed(seq uint64) { store64(&w.passed(w.t.rank).seq, seq) }

// Collect implements [wire.Shelves].
func (w *Windows) Collect(rank, line int, f wire.Flag, dst []byte) bool {
	p, k := &w.t.peers[rank], line-wire.ChunkLine
	l := &w.window[rank][line]
	switch {
	case len(dst) <= wire.ShortChunk:
		copy(dst, l.Short[:])
	case len(dst) <= w.room:
		copy(dst, w.roomOf(rank, k))
	default:
		address := *(*uint64)(unsafe.Pointer(&l.Short))
		if !w.t.fetch(p, address, dst) || !l.Holds(f) {
			return false
		}
		if atomic.AddUint32(&w.tally(rank, k).left, ^uint32(0)) == 0 {
			w.t.alert(p)
		}
	}
	return true
}

// Collected implements [wire.Shelves].
func (w *Windows) Collected(line int) bool {
	return atomic.LoadUint32(&w.tally(w.t.rank, line-wire.ChunkLine).left) == 0
}

// Revoke implements [wire.Shelves].
func (w *Windows) Revoke(line int) { w.own[line].Write(wire.Flag{}) }
