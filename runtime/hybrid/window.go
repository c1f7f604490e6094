package hybrid

import (
	"fmt"

	"github.com/schedgen/schedgen/internal/transport/segment"
	"github.com/schedgen/schedgen/internal/transport/sets"
	"github.com/schedgen/schedgen/runtime/wire"
)

// Windows returns the windows of the ranks of this host.
func (t *Transport) Windows() wire.Windows { return &t.first }

var _ wire.Sets = (*windows)(nil)

// windows are the windows in the memory that ranks of a host share. A rank that shares memory with
// no other rank has an empty window.
type windows struct {
	t    *Transport
	near *segment.Windows // nil: the rank shares memory with no other rank
	book sets.Book        // of a rank that shares memory with no other rank
}

// Window returns the window of a rank of this host.
func (w *windows) Window(rank int) []wire.Line {
	switch {
	case w.near == nil && rank == w.t.rank:
		return make([]wire.Line, wire.WindowLines)
	case w.near != nil && w.t.isNear(rank):
		return w.near.Window(w.t.location.local[rank])
	}
	return nil
}

// Reaches reports whether a rank shares memory with this rank.
func (w *windows) Reaches(rank int) bool {
	return w.near != nil && rank != w.t.rank && w.t.isNear(rank)
}

// Flag writes to the window of a rank of this host.
func (w *windows) Flag(to, line int, f wire.Flag) {
	if w.Reaches(to) {
		w.near.Flag(w.t.location.local[to], line, f)
	}
}

// Post writes to this rank's window, for ranks of this host.
func (w *windows) Post(line int, to []int, f wire.Flag) {
	if w.near == nil {
		return
	}
	w.near.Post(line, w.nearby(to), f)
}

// nearby returns the numbers of ranks in the memory of this host. The result is valid until the
// next call.
func (w *windows) nearby(ranks []int) []int {
	t := w.t
	t.group = t.group[:0]
	for _, rank := range ranks {
		if w.Reaches(rank) {
			t.group = append(t.group, t.location.local[rank])
		}
	}
	return t.group
}

// Lay stores a chunk in this rank's window, for ranks of this host.
func (w *windows) Lay(line int, to []int, f wire.Flag, body []byte, whole int) (lent, ok bool) {
	if w.near == nil {
		return false, false
	}
	return w.near.Lay(line, w.nearby(to), f, body, whole)
}

// Collect copies a chunk from the window of a rank of this host.
func (w *windows) Collect(rank, line int, f wire.Flag, dst []byte) bool {
	return w.Reaches(rank) && w.near.Collect(w.t.location.local[rank], line, f, dst)
}

// Collected reports whether the ranks of this host have collected a chunk.
func (w *windows) Collected(line int) bool { return w.near == nil || w.near.Collected(line) }

// Revoke takes a chunk back.
func (w *windows) Revoke(line int) {
	if w.near != nil {
		w.near.Revoke(line)
	}
}

// Passed tells the ranks of this host which operations this rank has passed.
func (w *windows) Passed(seq uint64) {
	if w.near != nil {
		w.near.Passed(seq)
	}
}

// FreeSets returns the sets that are free on this host.
func (w *windows) FreeSets() uint8 {
	if w.near == nil {
		return w.book.Free(nil) // no other rank has a set here
	}
	return w.near.FreeSets()
}

// OpenSet returns the windows of a set for the members on this host.
func (w *windows) OpenSet(set int, members []int, epoch uint32) (wire.Shelves, error) {
	if w.near == nil {
		w.book.Open(set, nil, epoch)
		return &windows{t: w.t}, nil
	}
	of, err := w.near.Open(set, append(w.nearby(members), w.t.location.local[w.t.rank]), epoch)
	if err != nil {
		return nil, fmt.Errorf("hybrid: %w", err)
	}
	return &windows{t: w.t, near: of}, nil
}

// CloseSet says that this rank no longer uses a set.
func (w *windows) CloseSet(set int) {
	if w.near == nil {
		w.book.Close(set)
		return
	}
	w.near.CloseSet(set)
}

// Copies implements [wire.Copier] for the ranks of this host.
func (t *Transport) Copies() (n int, why error) {
	if t.near == nil {
		return 0, nil
	}
	return t.near.Copies()
}
