package core

import (
	"github.com/schedgen/schedgen/ir"
	"github.com/schedgen/schedgen/runtime/wire"
)

// A multicast that is longer than the buffers of its receivers would overrun
// them where no link slows it down. So where the schedule says who reports to
// whom, the root lets at most Caps.Room bytes go beyond what all ranks have
// taken in: each rank tells how far all that report to it, and itself, have come,
// every quarter of a window.
//
// A rank whose call returns needs no more: it counts as if all had come. The
// multicast stays best effort: who is late delays the others for a moment
// and is then left to repairs. Messages within a window cost nothing.
type window struct {
	on       bool
	size     int // chunks
	step     int // chunks between two reports
	parent   int // whom this rank reports to; -1 at the root
	own      int // the multicast has come to this chunk
	children []child
	progress int // the least of all: reported to the parent, or allowed for by the root

	bytes     int       // root: what the multicasts take of a receiver's buffer, until all have taken them in
	behind    bool      // root: earlier operations fill that buffer: see queue
	postponed []ir.Slot // root: multicasts that wait, in order
	first     int       // the first of them that still does
	stirred   bool      // progress has been made since moved was written
	moved     Time      // when that was
}

// child is a rank that reports to this one.
type child struct {
	rank  int
	chunk int  // the multicast has come to this chunk there, and at all that report to it
	given bool // it is late and not waited for
}

// report is how far a multicast has come at a rank. It may come before this
// one has entered the operation.
type report struct {
	seq   uint64
	print uint32
	chunk int
	have  int // it has the chunks below
}

// reports are the last of each rank that reports to this one, of each of the few
// operations that it may have open.
type reports map[int]*[Remembered]report

// note has something noted in the last report of the sender of h.
func (rs *reports) note(h *wire.Header, note func(r *report)) {
	if *rs == nil {
		*rs = make(reports)
	}
	if (*rs)[h.From] == nil {
		(*rs)[h.From] = new([Remembered]report)
	}
	r := &(*rs)[h.From][h.Seq%Remembered]
	if h.Seq < r.seq {
		return
	}
	if h.Seq > r.seq || h.Print != r.print {
		*r = report{seq: h.Seq, print: h.Print}
	}
	note(r)
}

// of returns the last report of a rank of operation seq.
func (rs reports) of(rank int, seq uint64) report {
	if of := rs[rank]; of != nil {
		return of[seq%Remembered]
	}
	return report{}
}

// openWindow prepares the window of o, if it needs one.
func (rc *recovery) openWindow(o *op) {
	w, r := &o.lost.window, &o.plan.recovery
	w.bytes, w.behind = 0, false
	if w.on = rc.Caps.Room > 0 && (r.Reports || len(r.ReportFrom) > 0); !w.on {
		return
	}
	chunk := footprint(o.longest(), rc.Caps.Datagram)
	w.postponed, w.first = w.postponed[:0], 0
	if !r.Reports {
		w.bytes = o.chunks * chunk
		rc.queue(o)
	}
	w.size = max(1, rc.Caps.Room/chunk)
	if w.on = w.size < o.chunks; !w.on {
		return
	}
	w.step = max(1, w.size/4)
	w.own, w.progress, w.stirred = 0, 0, true
	if w.parent = int(r.ReportTo); !r.Reports {
		w.parent, w.own = -1, o.chunks
	}
	w.children = w.children[:0]
	for _, rank := range r.ReportFrom {
		c := child{rank: int(rank)}
		if last := rc.reports.of(c.rank, o.seq); last.seq == o.seq && last.print == o.print {
			c.chunk = min(last.chunk, o.chunks)
		}
		w.children = append(w.children, c)
	}
}

// footprint is what a chunk takes of a receiver's buffer: whole datagrams.
func footprint(chunk, datagram int) int {
	return max(1, (chunk+datagram-1)/datagram) * datagram
}

// reached notes that the multicast has come to chunk.
func (rc *recovery) reached(o *op, chunk int) {
	if w := &o.lost.window; w.on && chunk > w.own {
		w.own = chunk
		rc.advance(o)
	}
}

// reported takes a report.
func (rc *recovery) reported(h *wire.Header) {
	rc.reports.note(h, func(r *report) { r.chunk = int(h.Arg) })
	o := rc.ops.lookup(h.Seq)
	if o == nil || !rc.ops.agrees(o, h) || !o.lost.window.on {
		return // early or late; openWindow looks at the early ones
	}
	if !rc.takeReport(o, h) {
		rc.fate.violation(h, "it reports to a rank that does not expect it")
	}
}

// takeReport takes a report in, and reports whether one of the sender is expected.
func (rc *recovery) takeReport(o *op, h *wire.Header) bool {
	w := &o.lost.window
	c := w.child(h.From)
	if c == nil {
		return false
	}
	c.chunk = max(c.chunk, min(int(h.Arg), o.chunks))
	if c.chunk >= w.progress {
		c.given = false
	}
	rc.advance(o)
	return true
}

// tellTaken reports progress to the parent. While losses are seen it does so by datagram,
// too: a put that is lost would keep all ranks waiting until it is sent again. Within a host
// no put is lost, and datagrams would only take room in the parent's buffer.
func (rc *recovery) tellTaken(o *op) {
	w := &o.lost.window
	rc.control(w.parent, wire.FrameTaken, o.seq, o.print, uint32(w.progress))
	if rc.losing() && rc.Caps.Local < rc.Size {
		rc.queued = true
		rc.net.Datagram(w.parent, rc.fillControl(wire.FrameTaken, o.seq, o.print, uint32(w.progress)))
	}
}

// child returns what is known of a rank that reports, nil if it does not.
func (w *window) child(rank int) *child {
	for i := range w.children {
		if w.children[i].rank == rank {
			return &w.children[i]
		}
	}
	return nil
}

// advance tells the parent of progress, or lets more of the multicast go.
func (rc *recovery) advance(o *op) {
	w := &o.lost.window
	least := w.own
	for _, c := range w.children {
		if !c.given {
			least = min(least, c.chunk)
		}
	}
	if least < w.progress+w.step && (least < o.chunks || least == w.progress) {
		return
	}
	w.progress, w.stirred = least, true
	if w.parent < 0 {
		if least == o.chunks {
			w.drop(o) // puts have been faster: all ranks have the message
			rc.unqueue()
		}
		rc.release(o)
		return
	}
	rc.tellTaken(o)
}

// postpone keeps a multicast of o back, and reports so, if it is beyond the window.
func (w *window) postpone(o *op, s ir.Slot) bool {
	if !w.behind && (!w.on || !w.waits() && w.within(s)) {
		return false
	}
	w.postponed = append(w.postponed, s)
	o.unsent++ // the call must not return before it is sent
	return true
}

// leaving reports whether frames that are not postponed have not left yet.
func (w *window) leaving(o *op) bool {
	return o.unsent > len(w.postponed)-w.first+len(o.waits.list)
}

// waits reports whether multicasts are postponed.
func (w *window) waits() bool { return w.first < len(w.postponed) }

// within reports whether the multicast of chunk s overruns nobody.
func (w *window) within(s ir.Slot) bool { return !w.on || s.Index() < w.progress+w.size }

// release sends what is within the window by now.
func (rc *recovery) release(o *op) {
	w := &o.lost.window
	for !w.behind && w.waits() && w.within(w.postponed[w.first]) {
		s := w.postponed[w.first]
		w.first++
		o.unsent--
		rc.ops.mcast(o, s)
	}
}

// late returns a child that everybody waits for, nil if nobody waits. One that
// has reported that it has enough itself waits for another, which it gives up; but not
// one that has all, which may have returned, and closed.
func (o *op) late() *child {
	w := &o.lost.window
	if !w.on || w.behind || w.parent < 0 && !w.waits() {
		return nil
	}
	for i := range w.children {
		c := &w.children[i]
		if c.given || c.chunk >= w.progress+w.step || c.chunk+w.step > w.own {
			continue
		}
		if has := o.lost.yields.has(c.rank); has < w.progress+w.step || has == o.chunks {
			return c
		}
	}
	return nil
}

// maxPatience bounds how long a late child is waited for, in quarters of the
// base timeout.
const maxPatience = 32

// patience returns when a late child is given up. Who has more children, and so
// stands further up the tree, waits longer, so that only the parent of a late rank
// gives it up, as with the repairs (paper 002, section 3.3.4). While multicasts are
// still leaving, nobody can have taken them in: a slow link is not a late rank.
func (rc *recovery) patience(w *window) Time {
	return w.moved + Time(min(1+len(w.children), maxPatience))*rc.Repair/4
}

// unblock gives late ranks up.
func (rc *recovery) unblock(o *op, now Time) {
	for w := &o.lost.window; ; {
		if w.stirred || w.parent < 0 && w.leaving(o) {
			w.stirred, w.moved = false, now
		}
		c := o.late()
		if c == nil || now < rc.patience(w) {
			return
		}
		c.given = true
		rc.advance(o)
	}
}

// drop forgets what is postponed.
func (w *window) drop(o *op) {
	if w.waits() {
		o.unsent -= len(w.postponed) - w.first
	}
	w.postponed, w.first, w.on = w.postponed[:0], 0, false
	w.bytes = 0
}

// queue has the multicasts of o, which begins, wait if with them those of earlier
// open operations would overrun receivers, who may not even have entered it.
func (rc *recovery) queue(o *op) {
	if o.lost.window.behind = rc.crowded(o); o.lost.window.behind {
		rc.behind++
	}
}

// crowded reports whether the multicasts of o and those of earlier open operations
// do not fit into the window together. The first always do: they have a window of
// their own.
func (rc *recovery) crowded(o *op) bool {
	sum, some := o.lost.window.bytes, false
	for seq := rc.ops.complete + 1; seq < o.seq; seq++ {
		if p := rc.ops.open(seq); p != nil && p.lost.window.bytes > 0 {
			sum, some = sum+p.lost.window.bytes, true
		}
	}
	return some && sum > rc.Caps.Room
}

// unqueue sends the multicasts that wait for earlier operations no longer.
func (rc *recovery) unqueue() {
	for seq := rc.ops.complete + 1; rc.behind > 0 && seq <= rc.ops.seq; seq++ {
		o := rc.ops.open(seq)
		if o == nil || !o.lost.window.behind || rc.crowded(o) {
			continue
		}
		o.lost.window.behind, o.lost.window.stirred = false, true
		rc.behind--
		rc.release(o)
	}
}
