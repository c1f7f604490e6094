package hybrid

import (
	"fmt"

	"github.com/schedgen/schedgen/runtime/internal/memory"
	"github.com/schedgen/schedgen/runtime/internal/sets"
	"github.com/schedgen/schedgen/runtime/wire"
)

// Windows returns the windows of the ranks of this host.
func (t *Transport) Windows() wire.Windows { return &t.first }

var _ wire.Sets = (*windows)(nil)

// windows are those of the memory that ranks of a host share. A rank that shares memory with
// no other has one all the same, in which nothing ever stands.
type windows struct {
	t    *Transport
	near *memory.Windows // nil: it shares memory with no other
	book sets.Book       // of such a rank
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

// Reaches reports whether a rank shares memory with this one.
func (w *windows) Reaches(rank int) bool {
	return w.near != nil && rank != w.t.rank && w.t.isNear(rank)
}

// Flag writes to the window of a rank of this host.
func (w *windows) Flag(to, line int, f wire.Flag) {
	if w.Reaches(to) {
		w.near.Flag(w.t.location.local[to], line, f)
	}
}

// Post writes to the own window, for ranks of this host.
func (w *windows) Post(line int, to []int, f wire.Flag) {
	if w.near == nil {
		return
	}
	w.near.Post(line, w.nearby(to), f)
}

// nearby returns ranks of this host as the memory that they share numbers them, until the
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

// Lay has a chunk stand in the own window, for ranks of this host.
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

// Passed tells the ranks of this host how far this one has come.
func (w *windows) Passed(seq uint64) {
	if w.near != nil {
		w.near.Passed(seq)
	}
}

// FreeSets returns the sets that are free on this host.
func (w *windows) FreeSets() uint8 {
	if w.near == nil {
		return w.book.Free(nil) // no other has any of them here
	}
	return w.near.FreeSets()
}

// OpenSet returns the windows of a set for those of members that are on this host.
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

// CloseSet ends that.
func (w *windows) CloseSet(set int) {
	if w.near == nil {
		w.book.Close(set)
		return
	}
	w.near.CloseSet(set)
}

// Copies tells how often a long chunk is copied between ranks of this host.
func (t *Transport) Copies() (n int, why error) {
	if t.near == nil {
		return 0, nil
	}
	return t.near.Copies()
}
