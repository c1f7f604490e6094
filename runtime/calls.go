package runtime

import (
	"github.com/schedgen/schedgen/runtime/wire"
)

// Where chunks lie in windows, two ranks that have called different operations may never look at
// each other's lines: for example, two roots of one broadcast. The next flag, chunk or frame
// between them shows the mismatch, since its fingerprint covers all earlier operations. But roots
// may go on for long without one. So every rank notes the fingerprints of these broadcasts in its
// window, and looks at the notes of the other ranks now and then, and when nothing moves.

// checkCalls is the number of operations after which a rank looks at the others' notes. A window
// holds notes of more operations than one rank can be ahead of another that takes nothing.
const checkCalls = wire.CallLines / 2

// calls are the notes of a rank about its last operations, by number modulo the number of lines.
type calls struct {
	lines []wire.Line // other ranks read them
	last  uint64      // last operation noted; 0: none
}

// Note implements [core.ShelfNet].
func (c *calls) Note(seq uint64, fingerprint uint32) {
	c.lines[seq%wire.CallLines].Note(seq, fingerprint)
	c.last = seq
}

// lookAround tells the core the last note of each other rank, about operations that have begun
// here.
func (w *window) lookAround() {
	begun, ended := w.comm.core.Seq()
	for rank := range w.lines {
		if rank != w.comm.rank && w.lines[rank] != nil {
			w.lookAt(rank, begun, ended)
		}
	}
}

// lookAt tells the core the last note of one rank. If that note is about an operation that has
// ended and is not noted here, lookAt goes back to the last operation that is noted here.
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
