package verify

import (
	"errors"
	"slices"

	"github.com/schedgen/schedgen/ir"
)

// maxRuns bounds the memory of the sets of one must-analysis: 2^26 runs of 8 bytes.
const maxRuns = 1 << 26

// errIrregular is the error if the sets do not fit even for a single mark.
var errIrregular = errors.New("the schedule is too large and irregular to be decided in memory")

// must holds, for every slot and rule, which of the marked slots must be set before it, whatever is
// lost and in whatever order the rest arrives.
//
// A rule needs what any slot of its When needs (AND, union). A slot needs what all rules that can
// set it need (OR, intersection), and itself. In a broadcast a rank acts only after it has entered,
// because its buffer is the source and the destination of chunks. The rules of a barrier are taken
// literally. must is the greatest solution of these equations over everything that can happen. The
// solver starts from "everything" and visits each rule in the order in which rules can fire. It
// visits a rule again only if a later writer of a slot has made a set smaller. If every slot has
// one writer, that is a single pass.
//
// Repairs count as writers whatever their Unless says. So an answer can only err towards needing
// less.
type must struct {
	sub   *subject
	marks *marks
	span  run     // the marks that count
	seeds []runs  // by rank: what its entering needs in place of its mark; may be nil
	sets  []runs  // the distinct sets; the first is empty
	slots []int32 // by slot number: its set, -1: not reached
	rules []int32 // by rule number: its set, -1: not reached
	again []int32 // rules to visit once more
	total int     // number of runs in all sets
	limit int     // bound of total
	buf   [2]runs
}

// eachWindow computes the must-analysis for the marks lo … hi-1 and passes it to check. If the sets
// would take too much memory, it does so for one half of the marks after the other.
func eachWindow(sub *subject, m *marks, lo, hi, limit int, check func(*must) error) error {
	return halving(run{int32(lo), int32(hi)}, func(span run) (fits bool, err error) {
		a := newMust(sub, m, span, limit)
		if !a.solve() {
			return false, nil
		}
		return true, check(a)
	})
}

// halving calls do for a span of the marks, or for its halves if the span does not fit.
func halving(span run, do func(run) (fits bool, err error)) error {
	fits, err := do(span)
	if fits || err != nil {
		return err
	}
	if span.hi-span.lo <= 1 {
		return errIrregular
	}
	mid := (span.lo + span.hi) / 2
	if err := halving(run{span.lo, mid}, do); err != nil {
		return err
	}
	return halving(run{mid, span.hi}, do)
}

func newMust(sub *subject, m *marks, span run, limit int) *must {
	a := &must{sub: sub, marks: m, span: span, sets: []runs{nil}, limit: limit,
		slots: make([]int32, sub.layout.Slots()), rules: make([]int32, sub.layout.Rules())}
	for i := range a.slots {
		a.slots[i] = -1
	}
	for i := range a.rules {
		a.rules[i] = -1
	}
	return a
}

// solve solves the equations. It returns false if the sets grow beyond the limit.
func (a *must) solve() bool {
	a.begin()
	for _, rule := range a.sub.may.Fired() {
		if a.visit(int(rule)); a.total > a.limit {
			return false
		}
	}
	for len(a.again) > 0 {
		last := len(a.again) - 1
		rule := a.again[last]
		a.again = a.again[:last]
		if a.visit(int(rule)); a.total > a.limit {
			return false
		}
	}
	return true
}

// begin sets the sets of the slots that are set from the beginning: enter of every rank, and the
// chunks that the rank holds.
func (a *must) begin() {
	for rank := range a.sub.s.Programs {
		enter := a.sub.layout.Slot(rank, ir.Enter)
		set := int32(0)
		if a.seeds != nil {
			set = a.addSet(a.seeds[rank])
		} else {
			set = a.with(0, enter)
		}
		a.slots[enter] = set
		if a.sub.s.Held(rank).Len() == 0 {
			continue
		}
		held := a.sub.layout.Held(a.sub.s, rank)
		for id := range held {
			set = a.with(set, id)
		}
		for id := range held {
			a.slots[id] = set
		}
		a.slots[enter] = set
	}
}

// visit recomputes what a rule needs and updates the slots that it sets.
func (a *must) visit(id int) {
	rank, i := a.sub.layout.RuleOf(id)
	r := &a.sub.s.Programs[rank].Rules[i]
	set := a.unionOf(rank, r.When)
	if a.sub.s.HasMessage() {
		set = a.merge(set, a.slots[a.sub.layout.Slot(rank, ir.Enter)])
	}
	if old := a.rules[id]; old >= 0 && slices.Equal(a.sets[old], a.sets[set]) {
		return
	}
	a.rules[id] = set
	for i, act := range r.Do {
		if act.Op != ir.Mcast {
			if slot := a.sub.target(rank, r.Do, i); slot >= 0 {
				a.arrive(slot, set)
			}
			continue
		}
		for to := range a.sub.s.Programs {
			if to != rank {
				a.arrive(a.sub.layout.Slot(to, act.Slot), set)
			}
		}
	}
}

// arrive records that a rule that needs set can set the slot. If that makes the slot's set smaller,
// it schedules rules for another visit.
func (a *must) arrive(slot int, set int32) {
	old := a.slots[slot]
	if old >= 0 && a.sub.may.Cause(slot) < 0 {
		return // set from the beginning
	}
	set = a.with(set, slot)
	if old < 0 {
		a.slots[slot] = set
		return
	}
	if set == old || a.sets[set].includes(a.sets[old]) {
		return
	}
	a.slots[slot] = a.addSet(intersection(a.buf[0][:0], a.sets[old], a.sets[set]))
	for _, rule := range a.sub.waiters.Of(slot) {
		if a.rules[rule] >= 0 {
			a.again = append(a.again, rule)
		}
	}
}

// unionOf returns the union of the sets of slots of rank.
func (a *must) unionOf(rank int, slots []ir.Slot) int32 {
	acc, id, next := runs(nil), int32(0), 0
	for _, s := range slots {
		other := a.slots[a.sub.layout.Slot(rank, s)]
		if other < 0 || other == id || acc.includes(a.sets[other]) {
			continue
		}
		if a.sets[other].includes(acc) {
			acc, id = a.sets[other], other
			continue
		}
		a.buf[next] = union(a.buf[next][:0], acc, a.sets[other])
		acc, id, next = a.buf[next], -1, 1-next
	}
	if id >= 0 {
		return id
	}
	return a.addSet(acc)
}

// merge returns the union of two sets.
func (a *must) merge(x, y int32) int32 {
	if y < 0 || x == y || a.sets[x].includes(a.sets[y]) {
		return x
	}
	return a.addSet(union(a.buf[0][:0], a.sets[x], a.sets[y]))
}

// with returns the set with the slot's mark added.
func (a *must) with(set int32, slot int) int32 {
	mark := a.marks.of[slot]
	if mark < a.span.lo || mark >= a.span.hi || a.sets[set].has(mark) {
		return set
	}
	return a.addSet(union(a.buf[0][:0], a.sets[set], runs{{mark, mark + 1}}))
}

// addSet stores a set and returns its number.
func (a *must) addSet(s runs) int32 {
	a.total += len(s) + 4 // a set itself takes as much memory as a few runs
	a.sets = append(a.sets, slices.Clone(s))
	return int32(len(a.sets) - 1)
}

// reached reports whether slots of rank can all be set.
func (a *must) reached(rank int, slots []ir.Slot) bool {
	for _, s := range slots {
		if a.slots[a.sub.layout.Slot(rank, s)] < 0 {
			return false
		}
	}
	return true
}

// needed returns which of the span's marks must be set once all the given slots of rank are set. If
// they can never all be set, it returns every mark.
func (a *must) needed(rank int, slots []ir.Slot) runs {
	if !a.reached(rank, slots) {
		return runs{a.span}
	}
	return a.sets[a.unionOf(rank, slots)]
}
