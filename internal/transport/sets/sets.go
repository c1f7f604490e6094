// Package sets tracks which sets of windows a rank may use for a further communicator; see
// [wire.Sets]. It does no input or output and never waits.
//
// The lines of a rank's window are written and read only by the members of the communicator that
// has the set at this rank. So communicators without common ranks share no line, and may have one
// set at the same time. Of two communicators with a common rank, the later one may have the set
// when no rank writes or reads for the earlier one any more in any window that both see. Therefore
// every rank shows a mark for each set. The mark says which communicator had the set there last,
// and whether that use is over. A rank offers a set when the marks of all members of the last
// communicator that had it here say that their use is over: then no member touches this rank's
// window. All members of the next communicator offer the set, so this holds for all their windows.
//
// A missing mark does not count as over. A member that gives up before the others have made the
// communicator may have agreed with them nevertheless, and they then write to its window.
package sets

import (
	"slices"

	"github.com/schedgen/schedgen/runtime/wire"
)

// Over is the mark of a rank whose end of the transport is closed. It is greater than all other
// marks.
const Over = ^uint64(0)

// Mark returns a rank's mark for a set that a communicator of the given epoch has there, or has had
// if open is false. Epochs at a rank grow, so marks do too.
func Mark(epoch uint32, open bool) uint64 {
	if open {
		return uint64(epoch) << 1
	}
	return uint64(epoch)<<1 | 1
}

// Book is a rank's account of the sets. The zero value has no uses.
type Book struct{ uses [wire.WindowSets]use }

// use is the last use of a set at this rank.
type use struct {
	open   bool
	epoch  uint32
	others []int // members that may still touch its lines, without this rank
}

// Free returns the sets that the rank may offer, set s as bit s. mark returns the current mark of
// another rank.
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

// Open records that a communicator of the given epoch has a set at this rank, and returns the mark.
// others are the other members.
func (b *Book) Open(set int, others []int, epoch uint32) (mark uint64) {
	b.uses[set] = use{open: true, epoch: epoch, others: slices.Clone(others)}
	return Mark(epoch, true)
}

// Close records that the communicator no longer has the set, and returns the mark.
func (b *Book) Close(set int) (mark uint64) {
	u := &b.uses[set]
	u.open = false
	return Mark(u.epoch, false)
}
