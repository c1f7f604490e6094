package verify

import (
	"fmt"
	"math"
	"slices"

	"github.com/schedgen/schedgen/ir"
)

// reuse looks at the schedule run back to back, without any synchronisation
// between the operations. A slot of rank b that rank a writes can be written
// for operation k+d while b has not finished k; the run-ahead is the largest
// such d, and d+1 generations of the slot keep them apart.
//
// Rank a, acting in operation m, knows that certain ranks have entered m: those
// that what it waits for needs (must-analysis). Each of them has returned from
// m-1, so what its done needs has entered m-1: with that in place of the rank
// itself, the same analysis says who has entered m-1, and so on. The run-ahead
// of a over b is the first d for which b must have entered m-d, and unbounded if
// going back further makes no difference any more.
//
// Two bounds come of it. The first is about what is written: how many generations
// of a slot must be kept apart. The second is about calls: a rank that has entered
// operation m, whether it writes to the other or not, knows what the calls that it
// has returned from mean. It can be larger: of the leaves of an acknowledged
// broadcast one may have entered two operations more than another, to which it
// writes nothing.
//
// A flag at the receiver has no flow control (paper 003, section 4.2): an
// unbounded run-ahead over it is a fault. Chunks, contributions and partial results go through a
// transport that holds the sender back.
var reuse = Check{
	Name:    "reuse",
	Summary: "back to back, no flag of an operation is set before that of an earlier one is consumed; how far ranks may be apart",
	scope:   everySchedule,
	prove:   proveReuse,
}

// maxAhead is the largest run-ahead that counts as bounded: nobody keeps more
// generations of a flag apart.
const maxAhead = 64

// runAhead is the outcome of the check.
type runAhead struct {
	writes int     // most operations that a write is ahead of its receiver, where that is bounded
	enters int     // most operations that a rank enters ahead of another, where that is bounded
	flow   *[2]int // a rank that may write chunks any number of operations ahead of another one
	apart  *[2]int // a rank that may enter any number of operations ahead of another one
}

func proveReuse(sub *subject) (string, error) {
	ahead, err := aheadOf(sub, maxRuns)
	if err != nil {
		return "", err
	}
	return ahead.note(), nil
}

// note says it in words.
func (ra *runAhead) note() string {
	switch {
	case ra.flow != nil:
		return fmt.Sprintf("needs flow control: rank %d may run ahead of rank %d", ra.flow[0], ra.flow[1])
	case ra.apart != nil:
		return fmt.Sprintf("at most %s ahead when writing; rank %d enters any number ahead of rank %d", operations(ra.writes), ra.apart[0], ra.apart[1])
	}
	return fmt.Sprintf("at most %s ahead when writing, %d when entering", operations(ra.writes), ra.enters)
}

func operations(n int) string { return fmt.Sprintf("%d %s", n, plural(n, "operation", "operations")) }

// aheadOf looks at everything that plain rules set; what is part of a repair
// does not matter once everybody has returned.
func aheadOf(sub *subject, limit int) (runAhead, error) {
	ahead := runAhead{}
	m := enterMarks(sub)
	err := halving(run{0, int32(sub.s.Ranks)}, func(span run) (bool, error) {
		return ahead.look(sub, m, span, limit)
	})
	return ahead, err
}

// look finds how far ranks may run ahead of those in the span.
func (ra *runAhead) look(sub *subject, m *marks, span run, limit int) (fits bool, err error) {
	var seeds []runs
	free, apart := math.MaxInt, math.MaxInt
	for back := 0; ; back++ {
		a := newMust(sub, m, span, limit)
		a.seeds = seeds
		if !a.solve() {
			return false, nil
		}
		ra.writes = fewer(&free, a.countFree(), back, ra.writes)
		ra.enters = fewer(&apart, a.countApart(), back, ra.enters)
		next := a.enteredBefore()
		if free == 0 && apart == 0 || back == maxAhead || slices.EqualFunc(seeds, next, slices.Equal) {
			return true, ra.judge(a)
		}
		seeds = next
	}
}

// fewer takes in that n cases are left that going back so many operations does
// not bound, and returns the bound of those that it does.
func fewer(left *int, n, back, bound int) int {
	if n < *left {
		*left, bound = n, max(bound, back)
	}
	return bound
}

// countFree counts the transfers to ranks that need not have entered.
func (a *must) countFree() int {
	n := 0
	a.eachFree(func(int, ir.Action, int) { n++ })
	return n
}

// countApart counts the pairs of a rank that has entered and one of the span
// that need not have.
func (a *must) countApart() int {
	n := 0
	for rank := range a.sub.s.Programs {
		n += a.entered(rank).missing(a.span)
	}
	return n
}

// entered returns which ranks of the span must have entered, as many
// operations back as the seeds say, once the rank has entered.
func (a *must) entered(rank int) runs {
	if a.seeds != nil {
		return a.seeds[rank]
	}
	return a.sets[a.slots[a.sub.layout.Slot(rank, ir.Enter)]]
}

// enteredBefore returns, by rank, which ranks of the span must have entered
// one operation earlier than a says once the rank has entered.
func (a *must) enteredBefore() []runs {
	before := make([]runs, a.sub.s.Ranks)
	for rank := range before {
		set := a.needed(rank, a.sub.s.Programs[rank].Done)
		self := a.sets[a.slots[a.sub.layout.Slot(rank, ir.Enter)]]
		if !set.includes(self) {
			set = union(nil, set, self)
		}
		before[rank] = set
	}
	return before
}

// eachFree calls f with every transfer of a plain rule to a rank of the span
// that need not have entered, of a multicast with the first such rank.
func (a *must) eachFree(f func(from int, act ir.Action, to int)) {
	for _, id := range a.sub.may.Fired() {
		from, i := a.sub.layout.RuleOf(int(id))
		r := &a.sub.s.Programs[from].Rules[i]
		if r.IsRepair() || a.sub.awaitsRequest(from, r) {
			continue
		}
		for _, act := range r.Do {
			if to := a.firstFree(from, act, a.sets[a.rules[id]]); to >= 0 {
				f(from, act, to)
			}
		}
	}
}

// firstFree returns the first rank of the span that the action reaches and
// that is not among those that have entered, -1 if there is none.
func (a *must) firstFree(from int, act ir.Action, entered runs) int {
	lo, hi := a.span.lo, a.span.hi
	switch act.Op {
	case ir.Put:
		lo, hi = max(lo, act.To), min(hi, act.To+1)
	case ir.Fold: // it reaches nobody
		return -1
	}
	if lo >= hi {
		return -1
	}
	to := entered.firstMissing(lo, hi)
	if int(to) == from {
		to = entered.firstMissing(to+1, hi)
	}
	if to >= hi {
		return -1
	}
	return int(to)
}

// judge looks at what is free however far one goes back: a signal is a fault, a
// chunk needs flow control. Ranks that nothing keeps together may do as they like
// if neither writes to the other.
func (ra *runAhead) judge(a *must) (err error) {
	for rank := 0; rank < a.sub.s.Ranks && ra.apart == nil; rank++ {
		if behind := a.entered(rank).firstMissing(a.span.lo, a.span.hi); behind < a.span.hi {
			ra.apart = &[2]int{rank, int(behind)}
		}
	}
	a.eachFree(func(from int, act ir.Action, to int) {
		switch p := place(to, act.Sets()); {
		case act.Slot.Kind() != ir.KindSignal && ra.flow == nil:
			ra.flow = &[2]int{from, to}
		case act.Slot.Kind() == ir.KindSignal && err == nil:
			err = fail([]int{to, from}, []Place{p}, []Step{{p, from}},
				"%v may be set again before it is consumed: rank %d sets it and may be any number of operations ahead, as nothing it waits for means that rank %d has entered",
				p, from, to)
		}
	})
	return err
}
