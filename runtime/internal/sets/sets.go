// Package sets keeps account of which sets of windows a rank may use for a further communicator; see
// [wire.Sets]. It moves nothing and waits for nobody.
//
// Lines belong to writers: those of a rank's window are written and read by the members of the
// communicator that has the set at this rank, and by nobody else. So communicators that share no rank share no
// line, and may have one set at the same time. Of two that share a rank the later one may have the
// set when nobody writes or reads for the earlier one any more in any window that both see. For that every
// rank shows a mark of each set, which says whose it was there last, and whether that is over. A rank offers a set
// when the marks of all members of the last communicator that had it here say that it is
// over: then no line of its own window is touched by them. All members of the next communicator
// offer the set, so it holds for all their windows.
//
// A mark that is not there yet does not count as one that says that all is over: a member that gives up before the others
// have made the communicator may have agreed with them on it all the same, and they then write to it.
package sets

import (
	"slices"

	"github.com/schedgen/schedgen/runtime/wire"
)

// Over is the mark of a rank whose end of the transport is closed, which is above all others.
const Over = ^uint64(0)

// Mark is what a rank shows of a set that a communicator of that epoch has there, or has had if open is
// false. Epochs at a rank grow, so marks do.
func Mark(epoch uint32, open bool) uint64 {
	if open {
		return uint64(epoch) << 1
	}
	return uint64(epoch)<<1 | 1
}

// Book is a rank's account of the sets. The zero value is that of one that has used none.
type Book struct{ uses [wire.WindowSets]use }

// use is the last use of a set at this rank.
type use struct {
	open   bool
	epoch  uint32
	others []int // members that may still touch its lines, without this rank
}

// Free returns the sets, set s by bit s, that the rank may offer. mark returns the present mark of another rank.
func (b *Book) Free(mark func(set, rank int) uint64) (free uint8) {
	for set := 1; set < wire.WindowSets; set++ {
		u := &b.uses[set]
		if u.open {
			continue
		}
		over := Mark(u.epoch, false)
		u.others = slices.DeleteFunc(u.others, func(rank int) bool { return mark(set, rank) >= over })
		if len(u.others) == 0 {
			free |= 1 << set
		}
	}
	return free
}

// Open notes that a communicator of that epoch has a set at this rank, and returns its mark.
// others are its members without this rank.
func (b *Book) Open(set int, others []int, epoch uint32) (mark uint64) {
	b.uses[set] = use{open: true, epoch: epoch, others: slices.Clone(others)}
	return Mark(epoch, true)
}

// Close notes that it has it no more, and returns the mark.
func (b *Book) Close(set int) (mark uint64) {
	u := &b.uses[set]
	u.open = false
	return Mark(u.epoch, false)
}
