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
}

// open opens the windows of tr, if it has any.
func (w *window) open(tr wire.Transport) {
	if w.all = tr.Windows(); w.all == nil {
		return
	}
	w.own = w.all.Window(tr.Rank())
	for rank := range tr.Size() {
		w.lines = append(w.lines, w.all.Window(rank))
		w.remote = w.remote || w.all.Reaches(rank) && w.lines[rank] == nil
	}
}

// flagNet is how the core of the first communicator sends where there are windows.
type flagNet struct {
	core.Net
	wire.Windows
}

// Taken implements [wire.Taker].
func (n flagNet) Taken(to int) uint64 {
	if t, ok := n.Net.(wire.Taker); ok {
		return t.Taken(to)
	}
	return 0
}

// looksAlone is how often a rank looks for flags, with a core to itself, before it polls for
// frames, which takes longer. Where others need the core a rank looks once, and takes as long
// as the others at it: who takes longer, such as a master that waits for many, has to wait for
// its turn until they have had as much of the core.
const looksAlone = 64

// awaitFlags looks for flags if any are awaited, and reports whether there were any.
func (d *driver) awaitFlags() (some bool) {
	c := d.window.comm
	if c == nil || len(c.core.Awaits().Flags) == 0 {
		return false
	}
	if d.window.remote && c.core.Sent() {
		return d.poll() // the own flags go first
	}
	some = d.seeFlags()
	for n := 1; !some && n < looksAlone && !d.wait.Crowded(); n++ {
		some = d.seeFlags()
	}
	if some {
		c.serve()
		c.notice()
		d.tellMoved()
	}
	return some
}

// seeFlags tells the core of the flags that it waits for and that stand, and reports whether
// there were any.
func (d *driver) seeFlags() (some bool) {
	c := d.window.comm
	if c == nil {
		return false
	}
	a := c.core.Awaits()
	for i := len(a.Flags) - 1; i >= 0; i-- {
		at := &a.Flags[i]
		l := &d.window.lines[at.Rank][at.Line]
		if l.Seq() != a.Seq {
			continue
		}
		if f, whole := d.window.flag(l); whole {
			c.core.Flagged(i, f)
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
