package mem

import (
	"sync"

	"github.com/schedgen/schedgen/runtime/wire"
)

// place is a line with a chunk.
type place struct {
	mu   sync.Mutex // held while a lent chunk is copied
	body []byte     // the chunk
	own  []byte     // memory for a copy
	last uint64     // last operation that the place was written for; only its rank uses this
	left int        // ranks that have not collected the lent chunk
}

// empty clears the place.
func (p *place) empty() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.body, p.last, p.left = nil, 0, 0
}

// lendFrom is the least length in bytes of a lent chunk.
const lendFrom = wire.CopiedTo + 1

// Lay implements [wire.Shelves].
func (w *windows) Lay(line int, to []int, f wire.Flag, body []byte, _ int) (lent, ok bool) {
	p := &w.own.shelf[line-wire.ChunkLine]
	switch {
	case w.closed:
		return false, false
	case p.last == f.Seq:
		return false, true // the line already holds the chunk
	case !w.allPassed(p.last):
		return false, false
	}
	p.mu.Lock()
	if p.body, p.last = body, f.Seq; len(body) < lendFrom {
		p.own = append(p.own[:0], body...)
		p.body = p.own
	} else {
		p.left, lent = len(to), true
		w.stats.Lent++
	}
	p.mu.Unlock()
	w.stats.PutBytes += uint64(len(body) * len(to))
	w.Post(line, to, f)
	return lent, true
}

// allPassed reports whether all readers have passed operation seq.
func (w *windows) allPassed(seq uint64) bool {
	for _, rank := range w.others {
		if !w.left[rank] && w.setOf(rank).passed.Load() < seq {
			return false
		}
	}
	return true
}

// Passed implements [wire.Shelves].
func (w *windows) Passed(seq uint64) { w.own.passed.Store(seq) }

// Collect implements [wire.Shelves].
func (w *windows) Collect(rank, line int, f wire.Flag, dst []byte) bool {
	from := w.setOf(rank)
	p := &from.shelf[line-wire.ChunkLine]
	p.mu.Lock()
	defer p.mu.Unlock()
	if !from.lines[line].Holds(f) {
		return false
	}
	copy(dst, p.body)
	if p.left > 0 {
		if p.left--; p.left == 0 {
			w.all[rank].Wake()
		}
	}
	return true
}

// Collected implements [wire.Shelves].
func (w *windows) Collected(line int) bool {
	p := &w.own.shelf[line-wire.ChunkLine]
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.left == 0
}

// Revoke implements [wire.Shelves].
func (w *windows) Revoke(line int) {
	p := &w.own.shelf[line-wire.ChunkLine]
	p.mu.Lock()
	defer p.mu.Unlock()
	w.own.lines[line].Write(wire.Flag{})
	p.body, p.left = nil, 0
}
