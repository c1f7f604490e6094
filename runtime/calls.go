package runtime

import (
	"github.com/schedgen/schedgen/runtime/core"
	"github.com/schedgen/schedgen/runtime/wire"
)

// Where chunks stand in windows it may be that a rank looks at no line of one that has called
// something else, nor that one at any of its own: two roots of one operation, say. So every rank
// notes in its window what it calls, with a sum over all that it has called before, and looks at
// the notes of the others now and then. A note has 16 bits of the sum: if they are the same by
// chance, the next ones are not.

// checkCalls is after how many operations a rank does so. The notes of so many before are still
// there, also of ranks that are as far ahead.
const checkCalls = wire.CallLines / 2

// calls are the last operations of a rank, by number modulo their length.
type calls struct {
	prints [wire.CallLines]uint32
	sums   [wire.CallLines]uint64
}

// called notes what this rank has called under a number.
func (w *window) called(c *core.Core, seq uint64) {
	fingerprint, epoch := c.Called(seq)
	at := seq % wire.CallLines
	sum := w.calls.sums[(seq-1)%wire.CallLines]
	sum = (sum ^ uint64(fingerprint)<<32 ^ uint64(epoch)) * 1099511628211 // FNV-1a, a word at a time
	sum ^= sum >> 32
	w.calls.prints[at], w.calls.sums[at] = fingerprint, sum
	w.own[wire.CallLine+at].Note(seq, fingerprint, sum)
	if seq%checkCalls == 0 && seq > checkCalls {
		w.compare(c, seq-checkCalls)
	}
}

// noted returns what a rank has noted of an operation, and whether all that it has called up to
// there is what this one has.
func (w *window) noted(rank int, seq uint64) (fingerprint uint32, same, noted bool) {
	if w.lines[rank] == nil {
		return 0, false, false
	}
	at := seq % wire.CallLines
	return w.lines[rank][wire.CallLine+at].Noted(seq, w.calls.sums[at])
}

// compare looks whether all that have called as much as operation seq have called the same
// up to there.
func (w *window) compare(c *core.Core, seq uint64) {
	for rank := range w.lines {
		if _, same, noted := w.noted(rank, seq); same || !noted {
			continue
		}
		for s := seq + 1 - min(seq, checkCalls); s <= seq; s++ {
			mine := w.calls.prints[s%wire.CallLines]
			if theirs, _, noted := w.noted(rank, s); noted && theirs != mine {
				c.Differs(s, mine, rank, theirs)
				return
			}
		}
	}
}

// lookAround tells the core of a rank that has called something else in the operation that has
// been open longest. It is for when nothing moves.
func (d *driver) lookAround() {
	w := &d.window
	if w.comm == nil || w.shelf == nil || !w.comm.core.Inside() {
		return
	}
	_, ended := w.comm.core.Seq()
	seq := ended + 1
	for rank := range w.lines {
		mine := w.calls.prints[seq%wire.CallLines]
		if theirs, _, noted := w.noted(rank, seq); noted && theirs != mine {
			w.comm.core.Differs(seq, mine, rank, theirs)
			return
		}
	}
}
