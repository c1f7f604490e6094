package fixpoint

import (
	"fmt"
	"sort"

	"github.com/schedgen/schedgen/ir"
)

// MaxSlots bounds how many slots, and how many rules, a schedule may have in
// all to be analysed. An analysis keeps some ten numbers of four bytes for
// each, also for slots that a schedule claims and never mentions.
const MaxSlots = 1 << 26

// Place is one slot of one rank.
type Place struct {
	Rank int
	Slot ir.Slot
}

// String returns "s3 of rank 5".
func (p Place) String() string { return fmt.Sprintf("%v of rank %d", p.Slot, p.Rank) }

// MarshalText writes the place as "5:s3", rank first.
func (p Place) MarshalText() ([]byte, error) { return fmt.Appendf(nil, "%d:%v", p.Rank, p.Slot), nil }

// Layout numbers the slots and rules of a schedule consecutively over all
// ranks, so that analyses can keep what they find in flat arrays. Of each
// rank come enter, its chunks and its signals, in this order.
type Layout struct {
	chunks   int
	slotBase []int32 // first slot of each rank, and the number of slots
	ruleBase []int32 // first rule of each rank, and the number of rules
}

// NewLayout numbers the slots and rules of s. It fails if the programs are
// not those of ranks 0 … Ranks-1 or if there are more than [MaxSlots].
func NewLayout(s *ir.Schedule) (*Layout, error) {
	if s.Ranks < 1 || len(s.Programs) != s.Ranks {
		return nil, fmt.Errorf("numbering slots: %d programs for %d ranks", len(s.Programs), s.Ranks)
	}
	if s.Chunks < 0 || s.Chunks > MaxSlots || s.Ranks > MaxSlots {
		return nil, fmt.Errorf("numbering slots: %d ranks with %d chunks are out of range", s.Ranks, s.Chunks)
	}
	l := &Layout{s.Chunks, make([]int32, 1, s.Ranks+1), make([]int32, 1, s.Ranks+1)}
	slots, rules := 0, 0
	for r := range s.Programs {
		p := &s.Programs[r]
		if p.Rank != r || p.Signals < 0 || p.Signals > ir.MaxIndex {
			return nil, fmt.Errorf("numbering slots: program %d is of rank %d with %d signals", r, p.Rank, p.Signals)
		}
		slots += 1 + s.Chunks + p.Signals
		rules += len(p.Rules)
		if slots > MaxSlots || rules > MaxSlots {
			return nil, fmt.Errorf("numbering slots: more than %d slots or rules up to rank %d", MaxSlots, r)
		}
		l.slotBase = append(l.slotBase, int32(slots))
		l.ruleBase = append(l.ruleBase, int32(rules))
	}
	return l, nil
}

// Ranks returns the number of ranks.
func (l *Layout) Ranks() int { return len(l.slotBase) - 1 }

// Slots returns the number of slots of all ranks.
func (l *Layout) Slots() int { return int(l.slotBase[l.Ranks()]) }

// Rules returns the number of rules of all ranks.
func (l *Layout) Rules() int { return int(l.ruleBase[l.Ranks()]) }

// Slot returns the number of slot s of rank, -1 if there is no such slot.
func (l *Layout) Slot(rank int, s ir.Slot) int {
	if rank < 0 || rank >= l.Ranks() {
		return -1
	}
	base, i := int(l.slotBase[rank]), s.Index()
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

// Rule returns the number of the i-th rule of rank, -1 if there is none.
func (l *Layout) Rule(rank, i int) int {
	if rank < 0 || rank >= l.Ranks() || i < 0 {
		return -1
	}
	if id := int(l.ruleBase[rank]) + i; id < int(l.ruleBase[rank+1]) {
		return id
	}
	return -1
}

// PlaceOf returns the rank and slot that have the given number, which must be
// in 0 … Slots-1.
func (l *Layout) PlaceOf(slot int) Place {
	r := rankOf(l.slotBase, slot)
	switch i := slot - int(l.slotBase[r]); {
	case i == 0:
		return Place{r, ir.Enter}
	case i <= l.chunks:
		return Place{r, ir.Chunk(i - 1)}
	default:
		return Place{r, ir.Signal(i - 1 - l.chunks)}
	}
}

// RuleOf returns the rank that has the rule of the given number, which must be
// in 0 … Rules-1, and the rule's index there.
func (l *Layout) RuleOf(rule int) (rank, i int) {
	r := rankOf(l.ruleBase, rule)
	return r, rule - int(l.ruleBase[r])
}

// rankOf returns the rank whose half-open part [base[r], base[r+1]) holds id.
func rankOf(base []int32, id int) int {
	return sort.Search(len(base)-1, func(r int) bool { return int(base[r+1]) > id })
}
