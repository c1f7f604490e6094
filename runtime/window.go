package runtime

import (
	"math/bits"

	"github.com/schedgen/schedgen/internal/core"
	"github.com/schedgen/schedgen/runtime/wire"
)

// window holds the flag lines that a communicator waits for; see [wire.Windows].
type window struct {
	comm   *Comm
	set    int // number of the set of windows; 0: the first communicator's
	all    wire.Windows
	own    []wire.Line
	lines  [][]wire.Line // by rank, including this rank's
	remote bool          // network adapters write the lines: lines of other ranks cannot be read
	shelf  wire.Shelves  // the same as all; nil: chunks do not lie in the windows
	calls  calls         // this rank's notes
}

// newWindow returns the window of a rank in a set for size ranks.
func newWindow(set int, all wire.Windows, rank, size int) *window {
	w := &window{set: set, all: all, own: all.Window(rank)}
	w.shelf, _ = all.(wire.Shelves)
	w.calls.lines = w.own[wire.CallLine:]
	for other := range size {
		w.lines = append(w.lines, all.Window(other))
		w.remote = w.remote || all.Reaches(other) && w.lines[other] == nil
	}
	return w
}

// shelves reports whether chunks lie in w, which may be nil.
func (w *window) shelves() bool { return w != nil && w.shelf != nil }

// awaits reports whether this rank waits for flags, or for others to collect chunks.
func (w *window) awaits() bool {
	return len(w.comm.core.Awaits().Flags) > 0 || len(w.comm.core.Lent()) > 0
}

// flagNet sends for a core with windows.
type flagNet struct {
	core.Net
	wire.Windows
	remote bool
}

// Waits implements [core.FlagNet].
func (n flagNet) Waits() bool { return n.remote }

// Taken implements [wire.Taker].
func (n flagNet) Taken(to int) uint64 { return taken(n.Net, to) }

// shelfNet sends for a core whose chunks also lie in windows.
type shelfNet struct {
	core.Net
	wire.Shelves
	*calls
}

// Waits implements [core.FlagNet].
func (n shelfNet) Waits() bool { return false }

// Taken implements [wire.Taker].
func (n shelfNet) Taken(to int) uint64 { return taken(n.Net, to) }

func taken(n core.Net, to int) uint64 {
	if t, ok := n.(wire.Taker); ok {
		return t.Taken(to)
	}
	return 0
}

// net returns n extended by window w, which may be nil.
func (w *window) net(n core.Net) core.Net {
	switch {
	case w == nil:
		return n
	case w.shelf != nil:
		return shelfNet{n, w.shelf, &w.calls}
	}
	return flagNet{n, w.all, w.remote}
}

// looksAlone is how often a rank with a core to itself looks for flags before it polls for frames,
// which takes longer. Where other ranks need the core, it looks once, and so takes no longer than
// they do: a rank that takes longer, such as a master that waits for many, gets its next turn only
// when they have had as much of the core. A rank that has just called looks looksFirst times for a
// chunk, since the sender runs on another core, or ran on this one before.
const (
	looksAlone = 64
	looksFirst = 64
)

// awaitFlags looks for flags, and for chunks that others have collected, if any are awaited. It
// reports whether it found any. idle is how many looks in a row have found nothing.
func (d *driver) awaitFlags(idle int) bool {
	ws := &d.windows
	if ws.awaited == 0 {
		return false
	}
	if first := ws.open[0]; first != nil && first.remote && first.comm.core.Sent() {
		return d.poll() // own flags go first
	}
	looks := 1
	if !d.wait.Crowded() {
		looks = looksAlone
	} else if idle == 0 && ws.awaitsChunk() {
		looks = looksFirst
	}
	some := uint8(0)
	for ; looks > 0 && some == 0 && ws.awaited != 0; looks-- {
		some = d.seeFlags()
	}
	if some == 0 {
		return false
	}
	for ; some != 0; some &= some - 1 {
		c := ws.open[bits.TrailingZeros8(some)].comm
		c.serve()
		c.notice()
	}
	d.tellMoved()
	return true
}

// seeFlags tells the cores which awaited flags have come, and which chunks all receivers have
// collected. It returns the sets in which it found any, as bits.
func (d *driver) seeFlags() (some uint8) {
	ws := &d.windows
	for left := ws.awaited; left != 0; left &= left - 1 {
		bit := left & -left
		switch w := ws.open[bits.TrailingZeros8(left)]; {
		case !w.awaits():
			ws.awaited &^= bit
		case w.see():
			some |= bit
		}
	}
	return some
}

// see is seeFlags for the window of one communicator, and reports whether it found anything.
func (w *window) see() (some bool) {
	c := w.comm.core
	a := c.Awaits()
	for i := len(a.Flags) - 1; i >= 0; i-- {
		at := &a.Flags[i]
		l := &w.lines[at.Rank][at.Line]
		if l.Seq() != at.Seq {
			continue
		}
		if f, whole := w.flag(l); whole && w.collect(i, f) {
			some = true
		}
	}
	lent := c.Lent()
	for i := len(lent) - 1; i >= 0; i-- {
		if w.shelf.Collected(lent[i].Line) {
			c.Collected(i)
			some = true
		}
	}
	return some
}

// flag returns the flag in l, and whether it is complete.
func (w *window) flag(l *wire.Line) (f wire.Flag, whole bool) {
	if w.remote {
		return l.Sealed()
	}
	return l.Flag(), true
}

// collect tells the core that the awaited flag i has come, and copies its chunk. It reports false
// if the chunk is not available.
func (w *window) collect(i int, f wire.Flag) bool {
	c := w.comm.core
	at := &c.Awaits().Flags[i]
	if dst, chunk := c.Buffer(i, f); chunk && !w.shelf.Collect(at.Rank, at.Line, f, dst) {
		return false
	}
	c.Flagged(i, f)
	return true
}

// stray tells the core all newer flags in this rank's window, awaited or not.
func (w *window) stray() {
	c := w.comm.core
	for i := range w.own[:wire.FlagLines] {
		if l := &w.own[i]; l.Seq() > c.Awaits().Over {
			if f, whole := w.flag(l); whole {
				c.Stray(f)
			}
		}
	}
}
