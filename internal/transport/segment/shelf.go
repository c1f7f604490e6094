//go:build linux

package segment

import (
	"math"
	"sync/atomic"
	"unsafe"

	"github.com/schedgen/schedgen/internal/transport/store"
	"github.com/schedgen/schedgen/runtime/wire"
)

// A chunk for others to collect lies in one of three places: in the line of its flag if it is
// short; else in the room of that line, in the same window, if it fits; else in its rank's own
// memory, with the address in the line.

// lends reports whether to lend a chunk of a message of whole bytes. A system call copies a lent
// chunk and checks every page, and the lender waits until all have collected it. Where ranks share
// cores, that costs several turns of a core. There a chunk is lent only if its message is longer
// than the ring of a lane, so that a put would have to wait too.
func (t *Transport) lends(n, whole int, to []int) bool {
	if t.shelf.crowded && whole <= t.lanes[wire.LaneOps].bytes {
		return false
	}
	return t.pace.Lends(n, len(to), t.size) && t.mayLend(to)
}

// tally is the state of a line with chunks.
type tally struct {
	left uint32 // ranks that have not collected the lent chunk
	_    [lineSize - 4]byte
}

// passedLine says which operations a rank has passed.
type passedLine struct {
	seq uint64 // wire.Shelves.Passed
	_   [lineSize - 8]byte
}

// shelf is a rank's state of lent chunks, in all windows.
type shelf struct {
	loan    loan
	crowded bool   // there are more ranks than cores
	lender  []bool // by rank: it can collect lent chunks
}

// Lay implements [wire.Shelves].
func (w *Windows) Lay(line int, to []int, f wire.Flag, body []byte, whole int) (lent, ok bool) {
	t, k := w.t, line-wire.ChunkLine
	switch {
	case t.closed:
		return false, false
	case w.last[k] == f.Seq:
		return false, true // the line already holds the chunk
	case !w.vacant(k):
		return false, false
	}
	l := &w.own[line]
	switch {
	case len(body) <= wire.ShortChunk:
		copy(l.Short[:], body)
	case len(body) <= w.room:
		store.Copy(w.roomOf(t.rank, k), body)
	case !t.lends(len(body), whole, to):
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
	t.stats.PutBytes += uint64(len(body) * len(to))
	for _, rank := range to {
		t.alert(&t.peers[rank])
	}
	w.fetchLine(k)
	if !lent && len(body) > wire.ShortChunk && !t.shelf.crowded {
		w.fetchRoom((k+1)%wire.ChunkLines, len(body))
	}
	return lent, true
}

// fetchRoom makes the cache of this core fetch the memory for the next chunk from the caches of its
// last readers, if they are done with it, while the others read this chunk: 2 KiB to one rank take
// 0.75 µs instead of 1.15. Where ranks share cores, the time is better left to another rank.
func (w *Windows) fetchRoom(k, n int) {
	if w.last[k] > w.freed {
		return
	}
	room := w.roomOf(w.t.rank, k)[:n]
	for i := 0; i < n; i += lineSize {
		room[i] = 0
	}
}

// fetchLine makes the cache of this core fetch the line after line k of chunks, which lies in the caches
// of its last readers. It comes while nobody waits for it, and the next chunk takes one trip of a line
// to its reader in place of two.
func (w *Windows) fetchLine(k int) {
	if !w.t.shelf.crowded {
		store.Fetch(unsafe.Pointer(&w.own[wire.ChunkLine+(k+1)%wire.ChunkLines]))
	}
}

// vacant reports whether all readers are done with line k of chunks. It loads the others'
// passedLines only if the last known values do not suffice.
func (w *Windows) vacant(k int) bool {
	if w.last[k] > w.freed {
		w.freed = w.passedByAll()
	}
	return w.last[k] <= w.freed
}

// passedByAll returns the greatest operation that all remaining ranks have passed.
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
	w.fetchLine(k)
	return true
}

// Collected implements [wire.Shelves].
func (w *Windows) Collected(line int) bool {
	return atomic.LoadUint32(&w.tally(w.t.rank, line-wire.ChunkLine).left) == 0
}

// Revoke implements [wire.Shelves].
func (w *Windows) Revoke(line int) { w.own[line].Write(wire.Flag{}) }
