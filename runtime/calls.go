package runtime

import (
	"github.com/schedgen/schedgen/runtime/wire"
)

// Where chunks stand in windows it may be that a rank looks at no line of one that has called
// something else, nor that one at any of its own: two roots of one operation, say. The next flag,
// chunk or frame that comes from one to the other shows that, since its fingerprint covers all
// operations before it. But roots may go on for long without any. So every rank notes in its window
// the fingerprints of these broadcasts, and looks at the notes of the others now and then, and when
// nothing moves.

// checkCalls is after how many operations a rank does so. There are notes of more operations than a
// rank can be ahead, by lines and by frames that wait, of another one that takes nothing.
const checkCalls = wire.CallLines / 4

// calls are the last operations of a rank that are noted, by number modulo their length.
type calls struct {
	lines []wire.Line // where others see them
	last  uint64      // the last of them; 0: there is none
}

// Note implements [core.ShelfNet].
func (c *calls) Note(seq uint64, fingerprint uint32) {
	c.lines[seq%wire.CallLines].Note(seq, fingerprint)
	c.last = seq
}

// lookAround tells the core what the other ranks have noted last, of operations that have begun here.
func (w *window) lookAround() {
	begun, ended := w.comm.core.Seq()
	for rank := range w.lines {
		if rank != w.comm.rank && w.lines[rank] != nil {
			w.lookAt(rank, begun, ended)
		}
	}
}

// lookAt does so for one rank. Of operations that have ended, ranks that have made the same calls
// have noted the same.
func (w *window) lookAt(rank int, begun, ended uint64) {
	for seq := begun; seq > 0 && begun-seq < wire.CallLines; seq-- {
		if seq <= ended && seq > w.calls.last {
			if seq = w.calls.last; seq == 0 {
				return
			}
		}
		if theirs, noted := w.lines[rank][wire.CallLine+seq%wire.CallLines].Noted(seq); noted {
			w.comm.core.Noted(rank, seq, theirs)
			return
		}
	}
}
