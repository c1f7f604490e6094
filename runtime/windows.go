package runtime

import (
	"math/bits"

	"github.com/schedgen/schedgen/runtime/wire"
)

// windowSets are the windows of the communicators that share a transport: those of the first
// communicator, and one set for each of a few further ones ([wire.Sets]).
//
// The members of a communicator agree on a set as they agree on its number (split.go). Before a
// member writes to a window, all members have registered the communicator and emptied their own
// windows in the set. Old lines belonged to communicators that were closed at all members, and no
// member writes for those any more (package sets explains how members know). So no old line remains
// that could be taken for a new one. An old flag would have another epoch; an old note of a call
// would not even have that.
type windowSets struct {
	sets    wire.Sets                // nil: no further communicator has windows
	open    [wire.WindowSets]*window // by set
	awaited uint8                    // sets, as bits, in which something is awaited; only these are looked at
	offered uint8                    // sets, as bits, that are offered to next communicators and not yet given to one
}

// first returns the window of the first communicator of tr, or nil if tr has no windows.
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

// offerSets returns the sets that this rank offers to the next communicator. No other communicator
// is offered them before release. If a Split is using the numbers, it may have offered the sets
// already; the next communicator is then offered none and does not wait.
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

// further opens a set for the members of c and returns the window of c in it.
func (ws *windowSets) further(set int, m *members, c *Comm) (*window, error) {
	of, err := ws.sets.OpenSet(set, m.endpoint, c.cfg.Epoch)
	if err != nil {
		return nil, err
	}
	return newWindow(set, &membersWindows{Shelves: of, m: m}, c.rank, c.size), nil
}

// add registers the window of c, if it has one.
func (ws *windowSets) add(c *Comm) {
	if w := c.window; w != nil {
		w.comm = c
		ws.open[w.set] = w
	}
}

// drop removes w and closes its set.
func (ws *windowSets) drop(w *window) {
	if w == nil || ws.open[w.set] != w {
		return
	}
	ws.open[w.set] = nil
	ws.awaited &^= 1 << w.set
	ws.close(w)
}

// close closes the set of w, unless that is the first communicator's.
func (ws *windowSets) close(w *window) {
	if w != nil && w.set > 0 {
		ws.sets.CloseSet(w.set)
	}
}

// heed notes whether w awaits anything. Call it after each step of the core of w.
func (ws *windowSets) heed(w *window) {
	if w != nil && w.awaits() && ws.open[w.set] == w {
		ws.awaited |= 1 << w.set
	}
}

// awaitsChunk reports whether the first window in which anything is awaited awaits a chunk.
func (ws *windowSets) awaitsChunk() bool {
	flags := ws.open[bits.TrailingZeros8(ws.awaited)].comm.core.Awaits().Flags
	return len(flags) > 0 && flags[0].IsChunk()
}

// stray looks at all flags in this rank's own windows. Call stray and lookAround when nothing
// moves.
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
