package fixpoint

import (
	"fmt"
	"slices"

	"github.com/schedgen/schedgen/ir"
)

// System is rules over numbered slots. Every analysis of what is set, or of what must be set
// before, works on a System. There are two kinds: [NewSystem] returns the System of a schedule,
// whose slots and rules have names, and [Unnamed] returns one that its caller fills.
//
// Ranks, rules and slots are numbered from 0 on. The rules of a rank follow each other.
type System struct {
	layout   *Layout      // nil: the slots have no names
	schedule *ir.Schedule // nil: likewise

	enter  []int32 // by rank
	given  lists   // by rank: the other slots that are set from the beginning
	done   lists   // by rank
	owner  []int32 // by rule: its rank
	unless []int32 // by rule: the slot that calls it off, -1: it is no repair; nil: there are no repairs
	when   lists   // by rule
	first  []int32 // by rule: its first set; one more entry at the end
	sets   []Set
	casts  []cast
	comes  []Arrival

	waiters lists // by slot: the rules that wait for it
}

// Set says that a rule sets a slot of rank To. If To is [Here], the slot is one of the rule's own
// rank and set at once. If To is [All], Slot is the number of a multicast.
type Set struct{ Slot, To int32 }

// The values of Set.To that are no ranks.
const (
	Here = -1
	All  = -2
)

// cast is what a multicast sets.
type cast struct {
	chunk int
	slots []int32 // by rank; the slot of the rank that multicasts does not count
}

// Arrival is a slot that is set in a round, whatever the rules are.
type Arrival struct{ Slot, Round int32 }

// lists are lists of numbers that share one array.
type lists struct {
	start []int32 // by list; one more entry at the end
	all   []int32
}

func (l *lists) reset() { l.start, l.all = append(l.start[:0], 0), l.all[:0] }

// end ends the current list.
func (l *lists) end() { l.start = append(l.start, int32(len(l.all))) }

func (l *lists) of(i int) []int32 { return l.all[l.start[i]:l.start[i+1]] }

// Unnamed returns a System without ranks and rules.
func Unnamed() *System {
	y := new(System)
	y.Reset()
	return y
}

// Reset removes all ranks and rules.
func (y *System) Reset() {
	*y = System{
		enter: y.enter[:0], given: y.given, done: y.done, owner: y.owner[:0], when: y.when, first: append(y.first[:0], 0), sets: y.sets[:0],
		waiters: y.waiters,
	}
	y.given.reset()
	y.done.reset()
	y.when.reset()
}

// AddRank adds a rank: its slot enter, the other slots that are set from the beginning, and the
// slots for which it waits before it returns. All ranks are added before any rule.
func (y *System) AddRank(enter int32, given, done []int32) {
	y.enter = append(y.enter, enter)
	y.given.all, y.done.all = append(y.given.all, given...), append(y.done.all, done...)
	y.given.end()
	y.done.end()
}

// AddCast adds a multicast of a chunk, which sets a slot of each rank, and returns its number.
func (y *System) AddCast(chunk int, slots []int32) int32 {
	y.casts = append(y.casts, cast{chunk, slots})
	return int32(len(y.casts) - 1)
}

// AddRule adds a rule of a rank, and EndRule ends it. In between, [System.Wait] and [System.Add]
// say for which slots the rule waits and which it sets.
func (y *System) AddRule(rank int) { y.owner = append(y.owner, int32(rank)) }

// Wait adds a slot for which the current rule waits.
func (y *System) Wait(slot int32) { y.when.all = append(y.when.all, slot) }

// Add adds what the current rule sets, and returns its index in [System.Sets].
func (y *System) Add(s Set) int32 {
	y.sets = append(y.sets, s)
	return int32(len(y.sets) - 1)
}

// EndRule ends the current rule.
func (y *System) EndRule() {
	y.when.end()
	y.first = append(y.first, int32(len(y.sets)))
}

// Bring makes slots arrive that no rule sets. Those of earlier rounds come first.
func (y *System) Bring(arrivals []Arrival) { y.comes = arrivals }

// Finish ends a System of the given number of slots. It can be solved then.
func (y *System) Finish(slots int) {
	w := &y.waiters
	w.start = append(w.start[:0], make([]int32, slots+2)...)
	for _, slot := range y.when.all {
		w.start[slot+2]++
	}
	for i := 1; i < len(w.start); i++ {
		w.start[i] += w.start[i-1]
	}
	w.all = append(w.all[:0], make([]int32, len(y.when.all))...)
	for rule := range y.owner {
		for _, slot := range y.when.of(rule) {
			at := &w.start[slot+1]
			w.all[*at] = int32(rule)
			*at++
		}
	}
	w.start = w.start[:slots+1]
}

// NewSystem returns the System of s. It fails if [NewLayout] does, or if the rules wait for more
// than 4·[MaxSlots] slots in all, or do more.
func NewSystem(s *ir.Schedule) (*System, error) {
	l, err := NewLayout(s)
	if err != nil {
		return nil, err
	}
	y := &System{layout: l, schedule: s, owner: l.ruleRank}
	y.given.reset()
	y.done.reset()
	y.when.reset()
	y.first = make([]int32, 1, l.Rules()+1)
	y.when.start = append(make([]int32, 0, l.Rules()+1), 0)
	waits, does := 0, 0
	for rank := range s.Programs {
		p := &s.Programs[rank]
		for i := range p.Rules {
			waits, does = waits+len(p.Rules[i].When), does+len(p.Rules[i].Do)
		}
		if max(waits, does) > 4*MaxSlots {
			return nil, fmt.Errorf("rank %d: rules up to here wait for more than %d slots, or do more", rank, 4*MaxSlots)
		}
	}
	y.when.all, y.sets = make([]int32, 0, waits), make([]Set, 0, does)
	for i := range l.Casts() {
		chunk := l.casts.At(1 + i)
		slots := make([]int32, s.Ranks)
		for rank := range slots {
			slots[rank] = int32(l.Slot(rank, chunk))
		}
		y.AddCast(chunk.Index(), slots)
	}
	for rank := range s.Programs {
		p := &s.Programs[rank]
		y.enter = append(y.enter, int32(l.Slot(rank, ir.Enter)))
		if s.Held(rank).Len() > 0 {
			for id := range l.Held(s, rank) {
				y.given.all = append(y.given.all, int32(id))
			}
		}
		y.given.end()
		for _, slot := range p.Done {
			y.done.all = append(y.done.all, int32(l.Slot(rank, slot)))
		}
		y.done.end()
		for i := range p.Rules {
			y.addRule(rank, &p.Rules[i])
		}
	}
	y.Finish(l.Slots())
	return y, nil
}

// addRule adds a rule of a schedule.
func (y *System) addRule(rank int, r *ir.Rule) {
	if r.IsRepair() && y.unless == nil {
		y.unless = slices.Repeat([]int32{-1}, y.Rules())
	}
	for _, slot := range r.When {
		y.Wait(int32(y.layout.Slot(rank, slot)))
	}
	for i, a := range r.Do {
		switch {
		case a.Op == ir.Mcast:
			y.Add(Set{int32(y.layout.cast(a.Slot)), All})
		case a.Op == ir.Put:
			y.Add(Set{int32(y.layout.Slot(int(a.To), a.Sets())), a.To})
		case i+1 == len(r.Do) || !r.Do[i+1].Joins: // the last operand of a fold
			y.Add(Set{int32(y.layout.Slot(rank, a.As)), Here})
		}
	}
	y.EndRule()
	if r.IsRepair() {
		y.unless[len(y.first)-2] = int32(y.layout.Slot(rank, r.Unless))
	}
}

// Layout returns the names of the slots and rules, or nil if they have none.
func (y *System) Layout() *Layout { return y.layout }

// Ranks returns the number of ranks.
func (y *System) Ranks() int { return len(y.enter) }

// Slots returns the number of slots.
func (y *System) Slots() int { return len(y.waiters.start) - 1 }

// Rules returns the number of rules.
func (y *System) Rules() int { return len(y.owner) }

// Enter returns the slot enter of a rank.
func (y *System) Enter(rank int) int32 { return y.enter[rank] }

// Given returns the slots of a rank, besides enter, that are set from the beginning. Callers must
// not modify it, or what the other methods return.
func (y *System) Given(rank int) []int32 { return y.given.of(rank) }

// Done returns the slots for which a rank waits before it returns.
func (y *System) Done(rank int) []int32 { return y.done.of(rank) }

// RankOf returns the rank of a rule.
func (y *System) RankOf(rule int) int { return int(y.owner[rule]) }

// IsRepair reports whether a rule is a repair.
func (y *System) IsRepair(rule int) bool { return y.unless != nil && y.unless[rule] >= 0 }

// When returns the slots for which a rule waits.
func (y *System) When(rule int) []int32 { return y.when.of(rule) }

// Does returns what a rule sets.
func (y *System) Does(rule int) []Set { return y.sets[y.first[rule]:y.first[rule+1]] }

// Sets returns what all rules set, one rule after the other.
func (y *System) Sets() []Set { return y.sets }

// Cast returns the slots that a multicast sets, by rank. The rank that multicasts does not count.
func (y *System) Cast(number int32) []int32 { return y.casts[number].slots }

// Waiters returns the rules that wait for a slot. A rule occurs as often as the slot occurs in its
// When.
func (y *System) Waiters(slot int) []int32 { return y.waiters.of(slot) }
