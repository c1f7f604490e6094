package runtime

import (
	"math/bits"

	"github.com/schedgen/schedgen/runtime/wire"
)

// windowSets are the windows of the communicators that share a transport: the first one's, and those of as
// many further ones as there are sets for ([wire.Sets]).
//
// The members of a communicator agree on a set as they agree on its number (split.go). Before the first
// of them writes to a window all have registered the communicator, and by then emptied
// their own window in that set. What stood there was of communicators that were over at all
// of their members, none of which writes there again ([package sets] says how that is known). So no line of
// one of them is there to be taken for one of this, in which there would be another
// epoch, and in the notes of calls not even that.
type windowSets struct {
	sets    wire.Sets                // nil: no further communicator has windows
	open    [wire.WindowSets]*window // by set
	awaited uint8                    // those, by bits, in which something is awaited; no more than that is looked at
	offered uint8                    // sets, by bits, that are offered to heirs, of which it is not known which they have
}

// first returns the window of the first communicator of tr, nil if it has none.
func (ws *windowSets) first(tr wire.Transport) *window {
	all := tr.Windows()
	if all == nil {
		return nil
	}
	ws.sets, _ = all.(wire.Sets)
	return newWindow(0, all, tr.Rank(), tr.Size())
}

// free returns the sets that this rank offers.
func (ws *windowSets) free() uint8 {
	if ws.sets == nil {
		return 0
	}
	return ws.sets.FreeSets() &^ ws.offered
}

// offerSets returns the sets that this rank offers to an heir, which nobody else is offered before they are
// released. A Split that has the numbers may have offered them already: the heir is offered none then, and does not wait.
func (d *driver) offerSets() (sets uint8) {
	if d.numbers.user != 0 {
		return 0
	}
	sets = d.windows.free()
	d.windows.offered |= sets
	return sets
}

// release ends an offer.
func (ws *windowSets) release(offer *uint8) {
	ws.offered &^= *offer
	*offer = 0
}

// further opens a set for members, in which c is to have its window.
func (ws *windowSets) further(set int, m *members, c *Comm) (*window, error) {
	of, err := ws.sets.OpenSet(set, m.endpoint, c.cfg.Epoch)
	if err != nil {
		return nil, err
	}
	return newWindow(set, &membersWindows{Shelves: of, m: m}, c.rank, c.size), nil
}

// add has the window of c looked at, if it has one.
func (ws *windowSets) add(c *Comm) {
	if w := c.window; w != nil {
		w.comm = c
		ws.open[w.set] = w
	}
}

// drop ends that, and closes the set.
func (ws *windowSets) drop(w *window) {
	if w == nil || ws.open[w.set] != w {
		return
	}
	ws.open[w.set] = nil
	ws.awaited &^= 1 << w.set
	ws.close(w)
}

// close closes the set of w, if that is one.
func (ws *windowSets) close(w *window) {
	if w != nil && w.set > 0 {
		ws.sets.CloseSet(w.set)
	}
}

// heed has w be looked at if anything is awaited there. It is for after each step of its core.
func (ws *windowSets) heed(w *window) {
	if w != nil && w.awaits() && ws.open[w.set] == w {
		ws.awaited |= 1 << w.set
	}
}

// awaitsChunk reports whether what is awaited is a chunk, in the first window in which anything is.
func (ws *windowSets) awaitsChunk() bool {
	flags := ws.open[bits.TrailingZeros8(ws.awaited)].comm.core.Awaits().Flags
	return len(flags) > 0 && flags[0].IsChunk()
}

// stray looks at all flags that stand in own windows. It is for when nothing moves, as is
// lookAround.
func (ws *windowSets) stray() {
	for _, w := range ws.open {
		if w != nil {
			w.stray()
		}
	}
}

func (ws *windowSets) lookAround() {
	for _, w := range ws.open {
		if w.shelves() {
			w.lookAround()
		}
	}
}
