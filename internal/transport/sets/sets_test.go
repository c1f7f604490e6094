package sets_test

import (
	"fmt"
	"maps"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	_ "github.com/schedgen/schedgen/internal/test/heavy"
	"github.com/schedgen/schedgen/internal/transport/sets"
	"github.com/schedgen/schedgen/runtime/wire"
)

func TestMarksGrow(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		epoch := rapid.Uint32Range(0, 1<<32-2).Draw(t, "epoch")
		require.Less(t, sets.Mark(epoch, true), sets.Mark(epoch, false))
		require.Less(t, sets.Mark(epoch, false), sets.Mark(epoch+1, true))
		require.Less(t, sets.Mark(epoch+1, false), sets.Over)
	})
}

// comm is a communicator: what its members have agreed on, and the progress of each member.
type comm struct {
	set     int // 0: none
	epoch   uint32
	members map[int]stage
}

type stage int

const (
	agreed stage = iota // it will open the set
	opened
	closed
	gaveUp // before it has opened the set, so no member ever writes to the others
)

// ranks are ranks whose books are tested.
type ranks struct {
	books []sets.Book
	marks [][wire.WindowSets]uint64
	epoch []uint32
	gone  []bool
	comms []*comm
}

// offers returns a set that is free at all given ranks.
func (r *ranks) offers(members []int) int {
	free := ^uint8(0)
	for _, rank := range members {
		free &= r.books[rank].Free(func(set, other int) uint64 {
			if r.gone[other] {
				return sets.Over
			}
			return r.marks[other][set]
		})
	}
	for set := range wire.WindowSets {
		if free>>set&1 != 0 {
			return set
		}
	}
	return 0
}

// agree lets members make a communicator that none has opened yet.
func (r *ranks) agree(members []int) {
	c := &comm{set: r.offers(members), members: map[int]stage{}}
	for _, rank := range members {
		c.epoch = max(c.epoch, r.epoch[rank]+1)
	}
	for _, rank := range members {
		r.epoch[rank], c.members[rank] = c.epoch, agreed
	}
	r.comms = append(r.comms, c)
}

// idle reports whether a rank may offer sets: it is not about to open one.
func (r *ranks) idle(rank int) bool {
	return !r.gone[rank] && !slices.ContainsFunc(r.comms, func(c *comm) bool {
		s, member := c.members[rank]
		return member && s == agreed && c.set > 0
	})
}

// step lets a member make its next step.
func (r *ranks) step(c *comm, rank int, givesUp bool) {
	if c.set == 0 || r.gone[rank] {
		return
	}
	switch c.members[rank] {
	case agreed:
		if givesUp {
			c.members[rank] = gaveUp
			return
		}
		others := slices.DeleteFunc(slices.Collect(maps.Keys(c.members)), func(other int) bool { return other == rank })
		r.marks[rank][c.set] = r.books[rank].Open(c.set, others, c.epoch)
		c.members[rank] = opened
	case opened:
		r.marks[rank][c.set] = r.books[rank].Close(c.set)
		c.members[rank] = closed
	}
}

// clash returns an error if windows of members of c are, or may be, touched by ranks for another
// communicator with the same set.
func (r *ranks) clash(c *comm) error {
	for _, d := range r.comms {
		for m := range c.members {
			s, member := d.members[m]
			if d == c || d.set != c.set || c.set == 0 || !member || s == gaveUp {
				continue
			}
			for rank, s := range d.members {
				if !r.gone[rank] && (s == opened || s == agreed) {
					return fmt.Errorf("set %d is for ranks %v in epoch %d, and rank %d is at stage %d of ranks %v in epoch %d", c.set, c.members, c.epoch, rank, s, d.members, d.epoch)
				}
			}
		}
	}
	return nil
}

func newRanks(n int) *ranks {
	return &ranks{books: make([]sets.Book, n), marks: make([][wire.WindowSets]uint64, n), epoch: make([]uint32, n), gone: make([]bool, n)}
}

// live lets ranks make communicators and take steps in any order.
func live(t *rapid.T, giveUp, die bool) *ranks {
	n := rapid.IntRange(2, 5).Draw(t, "ranks")
	r := newRanks(n)
	for range rapid.IntRange(1, 80).Draw(t, "steps") {
		var idle []int
		for rank := range n {
			if r.idle(rank) {
				idle = append(idle, rank)
			}
		}
		switch what := rapid.IntRange(0, 15).Draw(t, "what"); {
		case what == 0 && die:
			r.gone[rapid.IntRange(0, n-1).Draw(t, "gone")] = true
		case what < 5 && len(idle) > 1:
			r.agree(rapid.SliceOfNDistinct(rapid.SampledFrom(idle), 2, len(idle), rapid.ID).Draw(t, "members"))
			require.NoError(t, r.clash(r.comms[len(r.comms)-1]))
		case len(r.comms) > 0:
			c := rapid.SampledFrom(r.comms).Draw(t, "communicator")
			r.step(c, rapid.SampledFrom(slices.Sorted(maps.Keys(c.members))).Draw(t, "member"), giveUp && rapid.IntRange(0, 3).Draw(t, "gives up") == 0)
		}
	}
	return r
}

// No rank touches a set that members have agreed on for another communicator with a common rank:
// even if members open or close late, die, or give up before they have opened it.
func TestNoLineIsSharedByTwo(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) { live(t, true, true) })
}

// When all members of all communicators have closed their sets, all sets are free again.
func TestSetsAreGivenBack(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		r := live(t, false, false)
		for _, c := range r.comms {
			for rank := range c.members {
				for c.set > 0 && c.members[rank] != closed {
					r.step(c, rank, false)
				}
			}
		}
		for rank := range r.books {
			require.Equal(t, uint8(1<<wire.WindowSets-2), r.books[rank].Free(func(set, other int) uint64 { return r.marks[other][set] }))
		}
	})
}

// Besides the first communicator, as many as there are sets can have a set. Disjoint communicators
// share a set.
func TestHowManyHaveSets(t *testing.T) {
	r := newRanks(4)
	for i := range wire.WindowSets {
		for _, members := range [][]int{{0, 1}, {2, 3}} {
			r.agree(members)
			c := r.comms[len(r.comms)-1]
			require.Equal(t, (i+1)%wire.WindowSets, c.set)
			for _, rank := range members {
				r.step(c, rank, false)
			}
		}
	}
}
