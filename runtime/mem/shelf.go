package mem

import (
	"sync"

	"github.com/schedgen/schedgen/runtime/wire"
)

// place is a line in which chunks stand.
type place struct {
	mu   sync.Mutex // held while a chunk that is lent is copied
	body []byte     // what stands there
	own  []byte     // memory for a copy
	last uint64     // the operation that it was written for last; its rank's
	left int        // ranks that have still to collect what is lent
}

// lendFrom is how long a chunk is, in bytes, that is lent.
const lendFrom = 1 << 10

var _ wire.Shelves = windows{}

// Lay implements [wire.Shelves].
func (t windows) Lay(line int, to []int, f wire.Flag, body []byte, _ int) (lent, ok bool) {
	p := &t.shelf[line-wire.ChunkLine]
	if t.closed || !t.allPassed(p.last) {
		return false, false
	}
	p.mu.Lock()
	if p.body, p.last = body, f.Seq; len(body) < lendFrom {
		p.own = append(p.own[:0], body...)
		p.body = p.own
	} else {
		p.left, lent = len(to), true
		t.stats.Lent++
	}
	p.mu.Unlock()
	t.Post(line, to, f)
	return lent, true
}

// allPassed reports whether nobody looks any more at what stands in a line since operation seq.
func (t windows) allPassed(seq uint64) bool {
	for rank, other := range t.all {
		if rank != t.rank && !t.left[rank] && other.passed.Load() < seq {
			return false
		}
	}
	return true
}

// Passed implements [wire.Shelves].
func (t windows) Passed(seq uint64) { t.passed.Store(seq) }

// Collect implements [wire.Shelves].
func (t windows) Collect(rank, line int, f wire.Flag, dst []byte) bool {
	from := t.all[rank]
	p := &from.shelf[line-wire.ChunkLine]
	p.mu.Lock()
	defer p.mu.Unlock()
	if !from.window[line].Holds(f) {
		return false
	}
	copy(dst, p.body)
	if p.left > 0 {
		if p.left--; p.left == 0 {
			from.Wake()
		}
	}
	return true
}

// Collected implements [wire.Shelves].
func (t windows) Collected(line int) bool {
	p := &t.shelf[line-wire.ChunkLine]
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.left == 0
}

// Revoke implements [wire.Shelves].
func (t windows) Revoke(line int) {
	p := &t.shelf[line-wire.ChunkLine]
	p.mu.Lock()
	defer p.mu.Unlock()
	t.window[line].Write(wire.Flag{})
	p.body, p.left = nil, 0
}
