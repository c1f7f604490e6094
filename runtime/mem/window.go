package mem

import (
	"math"
	"slices"
	"sync/atomic"

	"github.com/schedgen/schedgen/internal/transport/sets"
	"github.com/schedgen/schedgen/runtime/wire"
)

// Windows implements [wire.Transport].
func (t *Transport) Windows() wire.Windows {
	if !t.o.Windows {
		return nil
	}
	return t.sets.first
}

// windowSets are the sets of windows of a rank.
type windowSets struct {
	all   [wire.WindowSets]set // the first communicator's from the start
	first *windows
	book  sets.Book
}

// set is a rank's window of a set, with its state. Other ranks see it.
type set struct {
	lines  []wire.Line
	shelf  []place       // by line with a chunk
	passed atomic.Uint64 // wire.Shelves.Passed
	mark   atomic.Uint64 // see sets.Mark
}

// windows are the windows of a set as one rank uses them.
type windows struct {
	*Transport
	number int
	own    *set
	others []int // other ranks with the set
}

var _ wire.Sets = (*windows)(nil)

// openFirst makes the windows of all sets, which other ranks see from the start. It returns the
// windows of the first communicator.
func (t *Transport) openFirst(size int) *windows {
	for i := range t.sets.all {
		s := &t.sets.all[i]
		s.lines, s.shelf = make([]wire.Line, wire.WindowLines), make([]place, wire.ChunkLines)
	}
	w := &windows{Transport: t, own: &t.sets.all[0]}
	for rank := range size {
		if rank != t.rank {
			w.others = append(w.others, rank)
		}
	}
	return w
}

// empty clears the set.
func (s *set) empty() {
	clear(s.lines)
	for i := range s.shelf {
		s.shelf[i].empty()
	}
	s.passed.Store(0)
}

// Window implements [wire.Windows].
func (w *windows) Window(rank int) []wire.Line { return w.setOf(rank).lines }

// setOf returns the set of a rank.
func (w *windows) setOf(rank int) *set { return &w.all[rank].sets.all[w.number] }

// Reaches implements [wire.Windows].
func (w *windows) Reaches(rank int) bool { return rank != w.rank && rank >= 0 && rank < len(w.all) }

// Flag implements [wire.Windows].
func (w *windows) Flag(to, line int, f wire.Flag) {
	if !w.closed {
		w.setOf(to).lines[line].Write(f)
		w.stats.Flags++
		w.all[to].Wake()
	}
}

// Post implements [wire.Windows].
func (w *windows) Post(line int, to []int, f wire.Flag) {
	if w.closed {
		return
	}
	w.own.lines[line].Write(f)
	w.stats.Flags++
	for _, rank := range to {
		w.all[rank].Wake()
	}
}

// FreeSets implements [wire.Sets].
func (w *windows) FreeSets() uint8 {
	return w.sets.book.Free(func(set, rank int) uint64 { return w.all[rank].sets.all[set].mark.Load() })
}

// OpenSet implements [wire.Sets].
func (w *windows) OpenSet(number int, members []int, epoch uint32) (wire.Shelves, error) {
	s := &w.sets.all[number]
	s.empty()
	others := slices.DeleteFunc(slices.Clone(members), func(rank int) bool { return rank == w.rank })
	s.mark.Store(w.sets.book.Open(number, others, epoch))
	return &windows{w.Transport, number, s, others}, nil
}

// CloseSet implements [wire.Sets].
func (w *windows) CloseSet(number int) {
	s := &w.sets.all[number]
	s.passed.Store(math.MaxUint64) // it collects nothing any more
	s.mark.Store(w.sets.book.Close(number))
}

// closeSets says that this rank no longer writes or reads any set.
func (t *Transport) closeSets() {
	for i := range t.sets.all {
		t.sets.all[i].mark.Store(sets.Over)
	}
}
