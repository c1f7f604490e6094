package core

import (
	"math/bits"

	"github.com/schedgen/schedgen/ir"
	"github.com/schedgen/schedgen/runtime/wire"
)

// A multicast that is longer than the buffers of its receivers would overrun
// them where no link holds it back. So where ranks ask for what they miss, the
// root lets at most Caps.Window bytes go beyond what all ranks have taken in.
// That climbs the binomial tree of the acknowledgements (paper 002, section
// 3.2) as they do: each rank tells its parent how far its whole subtree has
// come, every quarter of a window. Where puts bring everything anyway
// (bcast/mcast-chain) losses cost nothing and waiting would.
//
// A rank whose call returns needs no more: it counts as if all had come. The
// multicast stays best effort: who is late holds the others up for a moment
// and is then left to repairs. Messages within a window cost nothing.
type window struct {
	on       bool
	size     int // chunks
	step     int // chunks between two reports
	parent   int // rank; -1 at the root
	levels   int // children are the ranks at distance 2^j, j < levels, as far as there are any
	own      int // the multicast has come to this chunk
	subtrees [maxLevels]int
	progress int // the least of all: told to the parent, or allowed for by the root

	held    []ir.Slot // root: multicasts that wait, in order
	first   int       // the first of them that still does
	given   uint32    // levels of children that are not waited for, being late
	stirred bool      // progress has been made since moved was written
	moved   Time      // when that was
}

// maxLevels is the height of a binomial tree of ir.MaxRanks.
const maxLevels = 20

// report is the last one from the rank at distance 2^j, kept because it may
// come before this rank has entered the operation.
type report struct {
	seq   uint64
	print uint32
	chunk int
}

// openWindow prepares the window of o, if it needs one.
func (rc *recovery) openWindow(o *op) {
	w := &o.lost.window
	if w.on = rc.Caps.Window > 0 && o.plan.acked && rc.Size > 1; !w.on {
		return
	}
	w.size = max(1, rc.Caps.Window/footprint((o.n+o.chunks-1)/o.chunks, rc.Caps.Datagram))
	if w.on = w.size < o.chunks; !w.on {
		return
	}
	w.step = max(1, w.size/4)
	w.own, w.progress, w.given, w.stirred = 0, 0, 0, true
	w.held, w.first = w.held[:0], 0
	v := (rc.Rank - o.root + rc.Size) % rc.Size
	w.parent = -1
	below := rc.Size
	if v > 0 {
		below = v & -v
		w.parent = (rc.Rank - below + rc.Size) % rc.Size
	} else {
		w.own = o.chunks
	}
	w.levels = 0
	for bit := 1; bit < below && v+bit < rc.Size; bit <<= 1 {
		r := &rc.reports[w.levels]
		w.subtrees[w.levels] = 0
		if r.seq == o.seq && r.print == o.print {
			w.subtrees[w.levels] = min(r.chunk, o.chunks)
		}
		w.levels++
	}
}

// footprint is what a chunk takes of a receiver's buffer: whole datagrams.
func footprint(chunk, datagram int) int {
	return max(1, (chunk+datagram-1)/datagram) * datagram
}

// take notes that the multicast has come to chunk.
func (rc *recovery) take(o *op, chunk int) {
	if w := &o.lost.window; w.on && chunk > w.own {
		w.own = chunk
		rc.advance(o)
	}
}

// reported takes a report of a child.
func (rc *recovery) reported(h *wire.Header) {
	distance := (h.From - rc.Rank + rc.Size) % rc.Size
	if distance == 0 || distance&(distance-1) != 0 {
		rc.fate.violation(h, "it reports to a rank that is not its parent")
		return
	}
	level := bits.TrailingZeros(uint(distance))
	if h.Seq >= rc.reports[level].seq {
		rc.reports[level] = report{seq: h.Seq, print: h.Print, chunk: int(h.Arg)}
	}
	o := rc.ops.lookup(h.Seq)
	if o == nil || !o.lost.window.on || level >= o.lost.window.levels || !rc.ops.agrees(o, h) {
		return // early or late; openWindow looks at the early ones
	}
	w := &o.lost.window
	w.subtrees[level] = max(w.subtrees[level], min(int(h.Arg), o.chunks))
	if w.subtrees[level] >= w.progress {
		w.given &^= 1 << level
	}
	rc.advance(o)
}

// advance tells the parent of progress, or lets more of the multicast go.
func (rc *recovery) advance(o *op) {
	w := &o.lost.window
	least := w.own
	for level, n := range w.subtrees[:w.levels] {
		if w.given&(1<<level) == 0 {
			least = min(least, n)
		}
	}
	if least < w.progress+w.step && (least < o.chunks || least == w.progress) {
		return
	}
	w.progress, w.stirred = least, true
	if w.parent < 0 {
		if least == o.chunks {
			w.drop(o) // puts have been faster: all ranks have the message
		}
		rc.release(o)
		return
	}
	rc.control(w.parent, wire.FrameTaken, o.seq, o.print, uint32(least))
}

// hold keeps a multicast of o back, and reports so, if it is beyond the window.
func (w *window) hold(o *op, s ir.Slot) bool {
	if !w.on || w.first == len(w.held) && s.Index() < w.progress+w.size {
		return false
	}
	w.held = append(w.held, s)
	o.unsent++ // the call must not return before it is sent
	return true
}

// leaving reports whether multicasts that are not held back have not left yet.
func (w *window) leaving(o *op) bool { return w.parent < 0 && o.unsent > len(w.held)-w.first }

// waits reports whether multicasts are held back.
func (w *window) waits() bool { return w.on && w.first < len(w.held) }

// release sends what is within the window by now.
func (rc *recovery) release(o *op) {
	w := &o.lost.window
	for w.waits() && w.held[w.first].Index() < w.progress+w.size {
		s := w.held[w.first]
		w.first++
		o.unsent--
		rc.ops.mcast(o, s)
	}
}

// patience returns when the lowest child that everybody waits for is given up,
// false if nobody waits. While multicasts are still leaving, nobody can have taken
// them in: a slow link is not a late rank. Who is further up the tree waits longer, so that only
// the parent of a late rank gives it up, as with the repairs (paper 002, section
// 3.3.4).
func (rc *recovery) patience(o *op) (level int, due Time, waits bool) {
	w := &o.lost.window
	if !w.on || w.parent < 0 && !w.waits() {
		return 0, due, false
	}
	for level, n := range w.subtrees[:w.levels] {
		if w.given&(1<<level) == 0 && n < w.progress+w.step && n+w.step <= w.own {
			return level, w.moved + Time(level+1)*rc.Repair/4, true
		}
	}
	return 0, due, false
}

// unblock gives late ranks up.
func (rc *recovery) unblock(o *op, now Time) {
	for w := &o.lost.window; ; {
		if w.stirred || w.leaving(o) {
			w.stirred, w.moved = false, now
		}
		level, due, waits := rc.patience(o)
		if !waits || now < due {
			return
		}
		w.given |= 1 << level
		rc.advance(o)
	}
}

// drop forgets what is held back.
func (w *window) drop(o *op) {
	if w.waits() {
		o.unsent -= len(w.held) - w.first
	}
	w.held, w.first, w.on = w.held[:0], 0, false
}
