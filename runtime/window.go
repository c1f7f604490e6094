package runtime

import (
	"github.com/schedgen/schedgen/runtime/core"
	"github.com/schedgen/schedgen/runtime/wire"
)

// window is where the flags stand that the first communicator waits for; see [wire.Windows].
type window struct {
	all    wire.Windows // nil: there are no flags
	comm   *Comm        // the first communicator; nil: it is closed
	own    []wire.Line
	lines  [][]wire.Line // by rank, the own ones included
	remote bool          // network adapters write them: those of others cannot be read
	shelf  wire.Shelves  // the same as all; nil: no chunks stand there
	calls  calls         // of this rank
}

// open opens the windows of tr, if it has any.
func (w *window) open(tr wire.Transport) {
	if w.all = tr.Windows(); w.all == nil {
		return
	}
	w.shelf, _ = w.all.(wire.Shelves)
	w.own = w.all.Window(tr.Rank())
	w.calls.lines = w.own[wire.CallLine:]
	for rank := range tr.Size() {
		w.lines = append(w.lines, w.all.Window(rank))
		w.remote = w.remote || w.all.Reaches(rank) && w.lines[rank] == nil
	}
}

// flagNet is how the core of the first communicator sends where there are windows.
type flagNet struct {
	core.Net
	wire.Windows
	remote bool
}

// Waits implements [core.FlagNet].
func (n flagNet) Waits() bool { return n.remote }

// Taken implements [wire.Taker].
func (n flagNet) Taken(to int) uint64 { return taken(n.Net, to) }

// shelfNet is how it sends where chunks stand in windows too.
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

// net returns how the core of the first communicator sends.
func (w *window) net(n core.Net) core.Net {
	switch {
	case w.shelf != nil:
		return shelfNet{n, w.shelf, &w.calls}
	case w.all != nil:
		return flagNet{n, w.all, w.remote}
	}
	return n
}

// How often a rank looks for flags before it polls for frames, which takes longer: alone, with a
// core to itself; once, where others need the core. It takes as long then as the others at it: who
// takes longer, such as a master that waits for many, has to wait for its turn until they have
// had as much of the core. A chunk is waited for longer by who has just called: who puts it is
// at work on another core, or was on this one before.
const (
	looksAlone = 64
	looksFirst = 64
)

// awaitFlags looks for flags if any are awaited, or if what others have to collect is, and
// reports whether there were any. idle is how many looks in a row have been in vain.
func (d *driver) awaitFlags(idle int) (some bool) {
	c := d.window.comm
	if c == nil {
		return false
	}
	a := c.core.Awaits()
	if len(a.Flags) == 0 && len(c.core.Lent()) == 0 {
		return false
	}
	if d.window.remote && c.core.Sent() {
		return d.poll() // the own flags go first
	}
	looks := 1
	if !d.wait.Crowded() {
		looks = looksAlone
	} else if idle == 0 && len(a.Flags) > 0 && a.Flags[0].IsChunk() {
		looks = looksFirst
	}
	for ; looks > 0 && !some; looks-- {
		some = d.seeFlags()
	}
	if some {
		c.serve()
		c.notice()
		d.tellMoved()
	}
	return some
}

// seeFlags tells the core of the flags that it waits for and that stand, and of the chunks that
// all have collected, and reports whether there were any.
func (d *driver) seeFlags() (some bool) {
	c := d.window.comm
	if c == nil {
		return false
	}
	a := c.core.Awaits()
	for i := len(a.Flags) - 1; i >= 0; i-- {
		at := &a.Flags[i]
		l := &d.window.lines[at.Rank][at.Line]
		if l.Seq() != at.Seq {
			continue
		}
		if f, whole := d.window.flag(l); whole && d.collect(c, i, f) {
			some = true
		}
	}
	lent := c.core.Lent()
	for i := len(lent) - 1; i >= 0; i-- {
		if d.window.shelf.Collected(lent[i].Line) {
			c.core.Collected(i)
			some = true
		}
	}
	return some
}

// flag returns the flag that stands in l, and whether all of it has come.
func (w *window) flag(l *wire.Line) (f wire.Flag, whole bool) {
	if w.remote {
		return l.Sealed()
	}
	return l.Flag(), true
}

// collect tells the core of flag i of those that it waits for, with its chunk. It reports false
// if that cannot be had.
func (d *driver) collect(c *Comm, i int, f wire.Flag) bool {
	at := &c.core.Awaits().Flags[i]
	if dst, chunk := c.core.Buffer(i, f); chunk && !d.window.shelf.Collect(at.Rank, at.Line, f, dst) {
		return false
	}
	c.core.Flagged(i, f)
	return true
}

// strayFlags tells the core of all flags that stand in the own window and that nobody changes.
func (d *driver) strayFlags() {
	c := d.window.comm
	if c == nil {
		return
	}
	for i := range d.window.own[:wire.FlagLines] {
		if l := &d.window.own[i]; l.Seq() > c.core.Awaits().Over {
			if f, whole := d.window.flag(l); whole {
				c.core.Stray(f)
			}
		}
	}
}
