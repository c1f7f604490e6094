package verify

import (
	"errors"
	"slices"

	"github.com/schedgen/schedgen/internal/ir/fixpoint"
)

// maxRuns bounds the memory of the sets of one must-analysis: 2^26 runs of 8 bytes.
const maxRuns = 1 << 26

// errIrregular is the error if the sets do not fit even for a single mark.
var errIrregular = errors.New("the schedule is too large and irregular to be decided in memory")

// equations are what a must-analysis examines: those of a schedule, or of a quotient.
type equations struct {
	*fixpoint.System
	may     *fixpoint.Result // everything that can happen
	entered bool             // a rank acts only after it has entered
	request []bool           // by slot: see ir.Program.Requests; nil: there are none
	ranks   int              // of the schedule
	period  int              // see quotient; 0: each rank stands for itself
}

// must holds, for every slot and rule, which of the marked slots must be set before it, whatever is
// lost and in whatever order the rest arrives. Or, without marks, it holds which ranks must have
// entered.
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
	*equations
	marks *marks
	span  run     // the marks that count, or the ranks
	seeds []runs  // without marks, by rank: which ranks must have entered if it has
	sets  []runs  // the distinct sets; the first is empty
	slots []int32 // by slot number: its set, -1: not reached
	rules []int32 // by rule number: its set, -1: not reached
	again []int32 // rules to visit once more
	total int     // number of runs in all sets
	limit int     // bound of total
	buf   [2]runs
}

// eachWindow computes the must-analysis for n marks, or for the ranks if m is nil, and passes it to
// check. If the sets would take too much memory, it does so for one half of the marks after the
// other.
func eachWindow(q *equations, m *marks, n, limit int, check func(*must) error) error {
	return halving(run{0, int32(n)}, func(span run) (fits bool, err error) {
		a := newMust(q, m, span, limit)
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

func newMust(q *equations, m *marks, span run, limit int) *must {
	a := &must{equations: q, marks: m, span: span, sets: []runs{nil}, limit: limit, slots: slices.Repeat([]int32{-1}, q.Slots()), rules: slices.Repeat([]int32{-1}, q.Rules())}
	if m == nil {
		a.seeds = make([]runs, q.Ranks())
		for rank := range a.seeds {
			if r := int32(rank); span.lo <= r && r < span.hi {
				a.seeds[rank] = runs{{r, r + 1}}
			}
		}
	}
	return a
}

// solve solves the equations. It returns false if the sets grow beyond the limit.
func (a *must) solve() bool {
	a.begin()
	for _, rule := range a.may.Fired() {
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
	for rank := range a.Ranks() {
		set := int32(0)
		if a.seeds != nil {
			set = a.addSet(a.seeds[rank])
		}
		enter, given := a.Enter(rank), a.Given(rank)
		set = a.with(set, enter)
		for _, slot := range given {
			set = a.with(set, slot)
		}
		for _, slot := range given {
			a.slots[slot] = set
		}
		a.slots[enter] = set
	}
}

// visit recomputes what a rule needs and updates the slots that it sets.
func (a *must) visit(rule int) {
	rank := a.RankOf(rule)
	set := a.unionOf(a.When(rule))
	if a.entered {
		set = a.merge(set, a.slots[a.Enter(rank)])
	}
	if old := a.rules[rule]; old >= 0 && slices.Equal(a.sets[old], a.sets[set]) {
		return
	}
	a.rules[rule] = set
	for _, s := range a.Does(rule) {
		switch s.To {
		case fixpoint.Here:
			a.arrive(s.Slot, set)
		case fixpoint.All:
			for to, slot := range a.Cast(s.Slot) {
				if to != rank {
					a.arrive(slot, a.seenFrom(set, int32(to)))
				}
			}
		default:
			a.arrive(s.Slot, a.seenFrom(set, s.To))
		}
	}
}

// seenFrom returns what the ranks of a set are, seen from a rank, for the rank that stands for it.
func (a *must) seenFrom(set, rank int32) int32 {
	by := a.standsBy(rank)
	if by == 0 || len(a.sets[set]) == 0 {
		return set
	}
	return a.addSet(a.sets[set].shifted(int32(a.ranks)-by, int32(a.ranks)))
}

// standsBy returns by how much all ranks move on from the rank that stands for the given one.
func (q *equations) standsBy(rank int32) int32 {
	if q.period == 0 {
		return 0
	}
	return rank - rank%int32(q.period)
}

// arrive records that a rule that needs set can set the slot. If that makes the slot's set smaller,
// it schedules rules for another visit.
func (a *must) arrive(slot, set int32) {
	old := a.slots[slot]
	if old >= 0 && a.may.Cause(int(slot)) < 0 {
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
	for _, rule := range a.Waiters(int(slot)) {
		if a.rules[rule] >= 0 {
			a.again = append(a.again, rule)
		}
	}
}

// unionOf returns the union of the sets of slots.
func (a *must) unionOf(slots []int32) int32 {
	acc, id, next := runs(nil), int32(0), 0
	for _, s := range slots {
		other := a.slots[s]
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
func (a *must) with(set, slot int32) int32 {
	if a.marks == nil {
		return set
	}
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

// reached reports whether the slots can all be set.
func (a *must) reached(slots []int32) bool {
	return !slices.ContainsFunc(slots, func(s int32) bool { return a.slots[s] < 0 })
}

// needed returns which of the span's marks must be set once all the given slots are set. If they
// can never all be set, it returns every mark.
func (a *must) needed(slots []int32) runs {
	if !a.reached(slots) {
		return runs{a.span}
	}
	return a.sets[a.unionOf(slots)]
}
