package runtime

import (
	"github.com/schedgen/schedgen/runtime/wire"
)

// Where chunks stand in windows it may be that a rank looks at no line of one that has called
// something else, nor that one at any of its own: two roots of one operation, say. So every rank
// notes in its window which of these broadcasts it calls, with a sum over all that it has called
// before, and looks at the notes of the others now and then. A note has 16 bits of the sum: if they
// are the same by chance, the next ones are not.

// checkCalls is after how many operations a rank does so. There are notes of more operations than a
// rank can be ahead, by lines and by frames that wait, of another one that takes nothing.
const checkCalls = wire.CallLines / 4

// calls are the last operations of a rank, by number modulo their length.
type calls struct {
	lines  []wire.Line // where others see them
	prints [wire.CallLines]uint32
	sums   [wire.CallLines]uint64
	shown  uint64 // the last operation that is noted there
	before uint64 // the same when the others were looked at last
}

// Note implements [core.ShelfNet].
func (c *calls) Note(seq uint64, fingerprint, epoch uint32, show bool) {
	at := seq % wire.CallLines
	sum := c.sums[(seq-1)%wire.CallLines]
	sum = (sum ^ uint64(fingerprint)<<32 ^ uint64(epoch)) * 1099511628211 // FNV-1a, a word at a time
	sum ^= sum >> 32
	c.prints[at], c.sums[at] = fingerprint, sum
	if show {
		c.lines[at].Note(seq, fingerprint, sum)
		c.shown = seq
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

// check looks whether the others have called the same as this rank up to an operation some time
// ago, or, if they have not come so far, in those that they have noted. seq is the last one.
func (w *window) check(seq uint64) {
	if !w.shelves() {
		return
	}
	c := w.comm
	before := w.calls.before
	w.calls.before = w.calls.shown
	if w.calls.shown+checkCalls < seq {
		return // nobody has been left to himself
	}
	for rank := range w.lines {
		_, same, noted := w.noted(rank, before)
		if same && noted || rank == c.rank {
			continue
		}
		for s := max(seq, wire.CallLines) - wire.CallLines + 1; s <= seq; s++ {
			mine := w.calls.prints[s%wire.CallLines]
			if theirs, _, noted := w.noted(rank, s); noted && theirs != mine {
				c.core.Differs(s, mine, rank, theirs)
				return
			}
		}
	}
}

// lookAround tells the core of a rank that has called something else in the operation that has
// been open longest.
func (w *window) lookAround() {
	seq, mine, inside := w.comm.core.Oldest()
	for rank := range w.lines {
		if theirs, _, noted := w.noted(rank, seq); inside && noted && theirs != mine {
			w.comm.core.Differs(seq, mine, rank, theirs)
			return
		}
	}
}
