package flow

import (
	"slices"

	"github.com/schedgen/schedgen/internal/core/internal/moment"
	"github.com/schedgen/schedgen/ir"
)

// Window is one rank's part in the window of a multicast. A multicast that is longer than its
// receivers' buffers would overrun them where no link slows it down. So if the schedule says which
// rank reports to which, the root sends at most Config.Room bytes beyond what all ranks have taken.
// Each rank reports, every quarter of a window, how far it and all ranks that report to it have
// come.
//
// A rank whose call has returned counts as if all chunks had arrived there. The multicast stays
// best effort: a late rank delays the others for a moment and is then left to repairs. Messages
// within a window cost nothing.
type Window struct {
	on       bool
	chunks   int // of the message
	size     int // length of the window in chunks
	step     int // chunks between two reports
	parent   int // receiver of this rank's reports; -1 at the root
	own      int // the multicast has reached this chunk here
	children []child
	progress int // minimum over the subtree: reported to the parent, or used by the root

	bytes   int         // root: bytes of receivers' buffers that the multicasts take, until all ranks have taken them
	behind  bool        // root: multicasts of earlier operations fill these buffers
	stirred bool        // there has been progress since moved was set
	moved   moment.Time // when there last was progress
}

// child is a rank that reports to this rank.
type child struct {
	rank  int
	chunk int  // the multicast has reached this chunk in the child's subtree
	given bool // it is late and no longer waited for
}

// Step is the reaction of a rank to new progress of a multicast.
type Step uint8

// The steps.
const (
	Nothing Step = iota
	Report       // it tells Parent the Progress
	Release      // the root sends the waiting multicasts that are Within the window now
	Finish       // all ranks have the message: the root calls Drop, and looks which later operations Fit
)

// OpenWindow makes w the window of m, which begins. earlier is how many bytes of receivers' buffers
// the multicasts of earlier open operations take (see Window.Taken). If the multicasts of m do not
// fit too, they wait: receivers may not even have entered m.
func (p *Peers) OpenWindow(w *Window, m *Message, earlier int) {
	r := m.Recovery
	w.bytes, w.behind, w.chunks = 0, false, m.Chunks
	if w.on = p.cfg.Room > 0 && (r.Reports || len(r.ReportFrom) > 0); !w.on {
		return
	}
	chunk := Footprint(m.Longest, p.cfg.Datagram)
	if !r.Reports {
		w.bytes = m.Chunks * chunk
		if w.behind = p.crowded(w, earlier); w.behind {
			p.behind++
		}
	}
	w.size = max(1, p.cfg.Room/chunk)
	if w.on = w.size < m.Chunks; !w.on {
		return
	}
	w.step = max(1, w.size/4)
	w.own, w.progress, w.stirred = 0, 0, true
	if w.parent = int(r.ReportTo); !r.Reports {
		w.parent, w.own = -1, m.Chunks
	}
	w.children = w.children[:0]
	for _, rank := range r.ReportFrom {
		c := child{rank: int(rank)}
		if last := p.reportOf(c.rank, m.Seq); last.seq == m.Seq && last.print == m.Print {
			c.chunk = min(last.chunk, m.Chunks)
		}
		w.children = append(w.children, c)
	}
}

// crowded reports whether the multicasts of w do not fit into a receiver's buffer together with the
// bytes of earlier ones. The multicasts of the first operation always fit: they have a window of
// their own.
func (p *Peers) crowded(w *Window, earlier int) bool {
	return earlier > 0 && w.bytes+earlier > p.cfg.Room
}

// Queued reports whether multicasts of an operation may wait for earlier operations.
func (p *Peers) Queued() bool { return p.behind > 0 }

// Fits reports whether the multicasts of w have waited for earlier operations, and no longer need
// to. earlier is as for OpenWindow.
func (p *Peers) Fits(w *Window, earlier int) bool {
	if !w.behind || p.crowded(w, earlier) {
		return false
	}
	w.behind, w.stirred = false, true
	p.behind--
	return true
}

// On reports whether the message is longer than the window.
func (w *Window) On() bool { return w.on }

// Behind reports whether the multicasts wait for earlier operations.
func (w *Window) Behind() bool { return w.behind }

// Taken returns how many bytes of receivers' buffers the multicasts take, at the root.
func (w *Window) Taken() int { return w.bytes }

// Parent returns the rank that this rank reports Progress to.
func (w *Window) Parent() int { return w.parent }

// Progress returns how many chunks the multicast has brought to this rank and all that report to
// it.
func (w *Window) Progress() int { return w.progress }

// Reached records that the multicast has reached chunk here.
func (w *Window) Reached(chunk int) Step {
	if !w.on || chunk <= w.own {
		return Nothing
	}
	w.own = chunk
	return w.advance()
}

// End ends the operation at this rank, which counts as if all chunks had arrived.
func (w *Window) End() Step {
	s := w.Reached(w.chunks)
	w.bytes = 0
	return s
}

// Take takes the report of a rank that the multicast has reached chunk there. ok is false if the
// rank does not report to this rank.
func (w *Window) Take(from, chunk int) (s Step, ok bool) {
	i := slices.IndexFunc(w.children, func(c child) bool { return c.rank == from })
	if i < 0 {
		return Nothing, false
	}
	c := &w.children[i]
	c.chunk = max(c.chunk, min(chunk, w.chunks))
	if c.chunk >= w.progress {
		c.given = false
	}
	return w.advance(), true
}

// advance says what follows from the progress of this rank and its children.
func (w *Window) advance() Step {
	least := w.own
	for _, c := range w.children {
		if !c.given {
			least = min(least, c.chunk)
		}
	}
	if least < w.progress+w.step && (least < w.chunks || least == w.progress) {
		return Nothing
	}
	w.progress, w.stirred = least, true
	switch {
	case w.parent >= 0:
		return Report
	case least == w.chunks:
		return Finish // puts were faster than the rest of the multicast
	}
	return Release
}

// Postpone makes multicast a of a chunk wait in the outbox if it is beyond the window, or behind
// another one that is. It reports whether it does.
func (w *Window) Postpone(box *Outbox, a ir.Action) bool {
	if !box.Has(ByRoom) && w.Within(a.Slot) {
		return false
	}
	box.Add(ByRoom, a)
	return true
}

// Within reports whether the multicast of chunk s overruns no receiver.
func (w *Window) Within(s ir.Slot) bool {
	return !w.behind && (!w.on || s.Index() < w.progress+w.size)
}

// Drop ends the window: all ranks have the message.
func (w *Window) Drop() { w.on, w.bytes = false, 0 }

// late returns a child that all ranks wait for, or nil if there is none. y says which chunks the
// child has. A child that has chunks beyond its report waits for its own child, and gives that
// child up itself. A child that has all chunks does not: it may have returned and closed.
func (w *Window) late(y *Yields, box *Outbox) *child {
	if !w.on || w.behind || w.parent < 0 && !box.Has(ByRoom) {
		return nil
	}
	for i := range w.children {
		c := &w.children[i]
		if c.given || c.chunk >= w.progress+w.step || c.chunk+w.step > w.own {
			continue
		}
		if has := y.has(c.rank); has < w.progress+w.step || has == w.chunks {
			return c
		}
	}
	return nil
}

// Timers visits the timer of a child that all ranks wait for: the child's rank, when the timer began,
// and how long it takes.
func (w *Window) Timers(y *Yields, box *Outbox, repair moment.Time, visit func(rank int, began *moment.Time, span moment.Time)) {
	if c := w.late(y, box); c != nil {
		visit(c.rank, &w.moved, w.patience(repair))
	}
}

// maxQuarters limits how long a late child is waited for, in quarters of the base timeout.
const maxQuarters = 32

// patience is how long a late child is waited for. A rank with more children, and so further up the
// tree, waits longer, so that only the parent of a late rank gives it up, as with repairs (paper
// 002, section 3.3.4). The time starts when multicasts have left: a slow link is not a late rank.
func (w *Window) patience(repair moment.Time) moment.Time {
	return moment.Time(min(1+len(w.children), maxQuarters)) * repair / 4
}

// Tick gives up a late child. again is false if there is none to give up; else do the step and call
// Tick again. leaving says that frames of the operation have not left, besides those in the outbox.
func (w *Window) Tick(now, repair moment.Time, leaving bool, y *Yields, box *Outbox) (s Step, again bool) {
	if w.stirred || w.parent < 0 && leaving {
		w.stirred, w.moved = false, now
	}
	c := w.late(y, box)
	if c == nil || now < w.moved+w.patience(repair) {
		return Nothing, false
	}
	c.given = true
	return w.advance(), true
}

// Awaited returns the ranks whose reports waiting multicasts wait for.
func (w *Window) Awaited() (from []int) {
	for i := range w.children {
		if c := &w.children[i]; w.on && !c.given && c.chunk <= w.progress {
			from = append(from, c.rank)
		}
	}
	return from
}

// Normalize makes windows equal if they differ only in durations. No tick reaches later.
func (w *Window) Normalize(later moment.Time) {
	if w.stirred, w.moved = false, later; !w.on {
		*w = Window{chunks: w.chunks, bytes: w.bytes, behind: w.behind}
	}
}
