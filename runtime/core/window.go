package core

import (
	"github.com/schedgen/schedgen/ir"
	"github.com/schedgen/schedgen/runtime/wire"
)

// A multicast that is longer than its receivers' buffers would overrun them where no link slows it
// down. So if the schedule says which rank reports to which, the root sends at most Caps.Room bytes
// beyond what all ranks have taken. Each rank reports, every quarter of a window, how far it and
// all ranks that report to it have come.
//
// A rank whose call has returned counts as if all had arrived. The multicast stays best effort: a
// late rank delays the others for a moment and is then left to repairs. Messages within a window
// cost nothing.
type window struct {
	on       bool
	size     int // length in chunks
	step     int // chunks between two reports
	parent   int // receiver of this rank's reports; -1 at the root
	own      int // the multicast has reached this chunk here
	children []child
	progress int // minimum over the subtree: reported to the parent, or used by the root

	bytes     int       // root: bytes of receivers' buffers that the multicasts take, until all ranks have taken them
	behind    bool      // root: earlier operations fill that buffer: see queue
	postponed []ir.Slot // root: waiting multicasts, in order
	first     int       // index of the first that still waits
	stirred   bool      // there has been progress since moved was set
	moved     Time      // when there last was progress
}

// child is a rank that reports to this one.
type child struct {
	rank  int
	chunk int  // the multicast has reached this chunk in the child's subtree
	given bool // it is late and no longer waited for
}

// report is how far a multicast has come at a rank. It may arrive before this rank has entered the
// operation.
type report struct {
	seq   uint64
	print uint32
	chunk int
	have  int // the rank has all chunks below this
}

// reports are the last reports of each rank that reports to this one, for each operation that it
// may have open.
type reports map[int]*[Remembered]report

// note updates the last report of the sender of h.
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

// of returns the last report of a rank about operation seq.
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

// footprint is the size of a chunk in a receiver's buffer: whole datagrams.
func footprint(chunk, datagram int) int {
	return max(1, (chunk+datagram-1)/datagram) * datagram
}

// reached records that the multicast has reached chunk.
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
		return // too early or too late; openWindow takes the early ones
	}
	if !rc.takeReport(o, h) {
		rc.fate.violation(h, "it reports to a rank that does not expect it")
	}
}

// takeReport takes a report, and reports whether the sender is a child.
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

// tellTaken reports progress to the parent. While losses are seen it also sends a datagram, since a
// lost put would delay all ranks until it is sent again. Within a host no put is lost, and
// datagrams would only take room in the parent's buffer.
func (rc *recovery) tellTaken(o *op) {
	w := &o.lost.window
	rc.control(w.parent, wire.FrameTaken, o.seq, o.print, uint32(w.progress))
	if rc.losing() && rc.Caps.Local < rc.Size {
		rc.queued = true
		rc.net.Datagram(w.parent, rc.fillControl(wire.FrameTaken, o.seq, o.print, uint32(w.progress)))
	}
}

// child returns the state of a rank that reports, or nil if it does not.
func (w *window) child(rank int) *child {
	for i := range w.children {
		if w.children[i].rank == rank {
			return &w.children[i]
		}
	}
	return nil
}

// advance reports progress to the parent, or releases more of the multicast.
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
			w.drop(o) // puts were faster: all ranks have the message
			rc.unqueue()
		}
		rc.release(o)
		return
	}
	rc.tellTaken(o)
}

// postpone keeps a multicast of o back if it is beyond the window, and reports so.
func (w *window) postpone(o *op, s ir.Slot) bool {
	if !w.behind && (!w.on || !w.waits() && w.within(s)) {
		return false
	}
	w.postponed = append(w.postponed, s)
	o.unsent++ // the call must not return before it is sent
	return true
}

// leaving reports whether frames of o have not left, besides the postponed ones.
func (w *window) leaving(o *op) bool {
	return o.unsent > len(w.postponed)-w.first+len(o.waits.list)
}

// waits reports whether multicasts are postponed.
func (w *window) waits() bool { return w.first < len(w.postponed) }

// within reports whether the multicast of chunk s overruns no receiver.
func (w *window) within(s ir.Slot) bool { return !w.on || s.Index() < w.progress+w.size }

// release sends the multicasts that are within the window now.
func (rc *recovery) release(o *op) {
	w := &o.lost.window
	for !w.behind && w.waits() && w.within(w.postponed[w.first]) {
		s := w.postponed[w.first]
		w.first++
		o.unsent--
		rc.ops.mcast(o, s)
	}
}

// late returns a child that all ranks wait for, or nil if none waits. A rank that has reported all
// that it has waits for its own child, and gives it up itself. A rank that has all chunks does not:
// it may have returned and closed.
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

// maxPatience limits how long a late child is waited for, in quarters of the base timeout.
const maxPatience = 32

// patience returns when a late child is given up. A rank with more children, and so further up the
// tree, waits longer, so that only the parent of a late rank gives it up, as with repairs (paper
// 002, section 3.3.4). The time starts when multicasts have left: a slow link is not a late rank.
func (rc *recovery) patience(w *window) Time {
	return w.moved + Time(min(1+len(w.children), maxPatience))*rc.Repair/4
}

// unblock gives up late children.
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

// drop forgets postponed multicasts.
func (w *window) drop(o *op) {
	if w.waits() {
		o.unsent -= len(w.postponed) - w.first
	}
	w.postponed, w.first, w.on = w.postponed[:0], 0, false
	w.bytes = 0
}

// queue makes the multicasts of o, which begins, wait if together with those of earlier open
// operations they would overrun receivers, which may not even have entered o.
func (rc *recovery) queue(o *op) {
	if o.lost.window.behind = rc.crowded(o); o.lost.window.behind {
		rc.behind++
	}
}

// crowded reports whether the multicasts of o do not fit into the window together with those of
// earlier open operations. Those of the first operation always fit: they have a window of their
// own.
func (rc *recovery) crowded(o *op) bool {
	sum, some := o.lost.window.bytes, false
	for seq := rc.ops.complete + 1; seq < o.seq; seq++ {
		if p := rc.ops.open(seq); p != nil && p.lost.window.bytes > 0 {
			sum, some = sum+p.lost.window.bytes, true
		}
	}
	return some && sum > rc.Caps.Room
}

// unqueue releases the multicasts that no longer need to wait for earlier operations.
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
