package fixpoint

import (
	"fmt"
	"iter"
	"sort"

	"github.com/schedgen/schedgen/internal/ir/numbering"
	"github.com/schedgen/schedgen/ir"
)

// MaxSlots bounds the slots, and the rules, of a schedule that can be analysed. An analysis keeps
// about ten numbers of four bytes for each.
const MaxSlots = 1 << 26

// Place is one slot of one rank.
type Place struct {
	Rank int     // 0 … Ranks-1
	Slot ir.Slot // as Rank names it
}

// String returns the place as "s3 of rank 5".
func (p Place) String() string { return fmt.Sprintf("%v of rank %d", p.Slot, p.Rank) }

// MarshalText returns the place as "5:s3", the rank first. The error is always nil.
func (p Place) MarshalText() ([]byte, error) { return fmt.Appendf(nil, "%d:%v", p.Rank, p.Slot), nil }

// Layout numbers the slots and rules of a schedule consecutively over all ranks, so that analyses
// can use flat arrays. The slots of a rank are in this order: enter, chunks, signals, partial
// results. Contributions have no numbers: see [ir.Input].
//
// A rank has enter and the slots that the schedule mentions: the slots that the rank's rules and
// Done name, the slots that other ranks put to it, and every chunk that any rank multicasts. So the
// number of slots is in proportion to the length of the schedule. A chunk that the rank holds or
// wants but that the schedule does not mention has no number. Such a chunk is set from enter on or
// never (see [Result.Slot]).
type Layout struct {
	slotBase []int32 // by rank: its first slot; one more entry: the number of slots
	ruleBase []int32 // by rank: its first rule; one more entry: the number of rules
	ruleRank []int32 // by rule: its rank
	casts    numbering.Slots

	// ranks is nil if every rank has the chunks 0 … chunks-1, its signals from 0 on and no partial
	// results, as in most broadcasts and barriers.
	chunks int
	ranks  []numbering.Slots
}

// Ranks returns the number of ranks.
func (l *Layout) Ranks() int { return len(l.slotBase) - 1 }

// Slots returns the number of slots of all ranks.
func (l *Layout) Slots() int { return int(l.slotBase[l.Ranks()]) }

// Rules returns the number of rules of all ranks.
func (l *Layout) Rules() int { return int(l.ruleBase[l.Ranks()]) }

// Slot returns the number of slot s of rank, or -1 if there is no such slot.
func (l *Layout) Slot(rank int, s ir.Slot) int {
	if rank < 0 || rank >= l.Ranks() {
		return -1
	}
	base, i := int(l.slotBase[rank]), s.Index()
	if l.ranks != nil {
		return l.search(rank, s)
	}
	switch s.Kind() {
	case ir.KindEnter:
		if i == 0 {
			return base
		}
	case ir.KindChunk:
		if i < l.chunks {
			return base + 1 + i
		}
	case ir.KindSignal:
		if id := base + 1 + l.chunks + i; id < int(l.slotBase[rank+1]) {
			return id
		}
	}
	return -1
}

func (l *Layout) search(rank int, s ir.Slot) int {
	i := l.ranks[rank].Index(s)
	if i < 0 {
		return -1
	}
	return int(l.slotBase[rank]) + i
}

// Rule returns the number of rule i of rank, or -1 if there is none.
func (l *Layout) Rule(rank, i int) int {
	if rank < 0 || rank >= l.Ranks() || i < 0 {
		return -1
	}
	if id := int(l.ruleBase[rank]) + i; id < int(l.ruleBase[rank+1]) {
		return id
	}
	return -1
}

// PlaceOf returns the rank and the slot with the given number, which must be in 0 … Slots-1.
func (l *Layout) PlaceOf(slot int) Place {
	r := sort.Search(l.Ranks()-1, func(r int) bool { return int(l.slotBase[r+1]) > slot })
	i := slot - int(l.slotBase[r])
	switch {
	case l.ranks != nil:
		return Place{r, l.ranks[r].At(i)}
	case i == 0:
		return Place{r, ir.Enter}
	case i <= l.chunks:
		return Place{r, ir.Chunk(i - 1)}
	default:
		return Place{r, ir.Signal(i - 1 - l.chunks)}
	}
}

// SlotOf returns the slot of rank with the given number.
func (l *Layout) SlotOf(rank, number int) ir.Slot {
	return l.slotOf(rank, number-int(l.slotBase[rank]))
}

// RuleOf returns the rank and the index of the rule with the given number, which must be in 0 …
// Rules-1.
func (l *Layout) RuleOf(rule int) (rank, i int) {
	r := int(l.ruleRank[rule])
	return r, rule - int(l.ruleBase[r])
}

// Held yields the numbers of the chunks that rank of s holds at enter, ascending. It leaves out
// chunks that have no number.
func (l *Layout) Held(s *ir.Schedule, rank int) iter.Seq[int] {
	held := s.Held(rank)
	first, end := int(l.slotBase[rank]), int(l.slotBase[rank+1])
	return func(yield func(int) bool) {
		if held.Len() <= end-first {
			for k := range held.All() {
				if id := l.Slot(rank, ir.Chunk(k)); id >= 0 && !yield(id) {
					return
				}
			}
			return
		}
		for id := first + 1; id < end; id++ {
			slot := l.slotOf(rank, id-first)
			if slot.Kind() != ir.KindChunk {
				return
			}
			if held.Has(slot.Index()) && !yield(id) {
				return
			}
		}
	}
}

// slotOf returns slot i of rank.
func (l *Layout) slotOf(rank, i int) ir.Slot {
	if l.ranks != nil {
		return l.ranks[rank].At(i)
	}
	if i <= l.chunks {
		return ir.Chunk(i - 1)
	}
	return ir.Signal(i - 1 - l.chunks)
}

// cast returns the position of chunk among the chunks that are multicast.
func (l *Layout) cast(chunk ir.Slot) int { return l.casts.Index(chunk) - 1 }

// Casts returns the number of chunks that any rank multicasts.
func (l *Layout) Casts() int { return l.casts.Len() - 1 }
