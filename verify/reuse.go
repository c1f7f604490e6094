package verify

import (
	"fmt"
	"math"
	"slices"

	"github.com/schedgen/schedgen/ir"
)

// reuse considers operations that run back to back without synchronisation between them. A rank a
// may write a slot of rank b for operation k+d while b has not finished operation k. The run-ahead
// is the largest such d. With d+1 generations of the slot, a receiver can keep them apart.
//
// A rank a that acts in operation m knows that certain ranks have entered m: the ranks that the
// slots for which it waits need (must-analysis). Each of these ranks has returned from m-1, so the
// ranks that its Done needs have entered m-1. With these ranks in place of the rank itself, the
// same analysis says which ranks have entered m-1, and so on. The run-ahead of a over b is the
// first d for which b must have entered m-d. It is unbounded if going back further changes nothing.
//
// There are two bounds. The first is about writes: how many generations of a slot must be kept
// apart. The second is about calls. A rank that has entered operation m knows what the calls that
// it has returned from mean, whether it writes to the other rank or not. The second bound can be
// larger: a leaf of an acknowledged broadcast may have entered two operations more than another
// leaf, to which it writes nothing.
//
// A flag at the receiver has no flow control (paper 003, section 4.2), so an unbounded run-ahead
// over a flag is a fault. Chunks, contributions and partial results go through a transport that
// holds the sender back.
var reuse = Check{
	Name:    "reuse",
	Summary: "in operations back to back, no signal is set before that of an earlier operation is consumed; tells how far ranks may be apart",
	scope:   &everySchedule,
	prove:   proveReuse,
}

// maxAhead is the largest run-ahead that counts as bounded. No runtime keeps more generations of a
// flag apart.
const maxAhead = 64

// runAhead is the result of the check.
type runAhead struct {
	// writes is the largest number of operations that a write is ahead of its receiver, where that
	// is bounded.
	writes int
	// enters is the largest number of operations that a rank enters ahead of another, where that is
	// bounded.
	enters int
	// flow is a rank that may write chunks any number of operations ahead of another, and that
	// other rank.
	flow *[2]int
	// apart is a rank that may enter any number of operations ahead of another, and that other
	// rank.
	apart *[2]int
}

func proveReuse(sub *subject) (string, error) {
	ahead, err := sub.runAhead()
	if err != nil {
		return "", err
	}
	return ahead.note(), nil
}

// runAhead returns the result of aheadOf, which it computes once.
func (sub *subject) runAhead() (runAhead, error) {
	if !sub.aheadOf.known {
		sub.aheadOf.known = true
		sub.ahead, sub.aheadOf.err = aheadOf(sub, maxRuns)
	}
	return sub.ahead, sub.aheadOf.err
}

// note describes the result in words.
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

// aheadOf examines everything that plain rules set. Parts of repairs do not matter once all ranks
// have returned.
func aheadOf(sub *subject, limit int) (runAhead, error) {
	ahead := runAhead{}
	m := enterMarks(sub)
	err := halving(run{0, int32(sub.s.Ranks)}, func(span run) (bool, error) {
		return ahead.bound(sub, m, span, limit)
	})
	return ahead, err
}

// bound finds how far ranks may run ahead of the ranks in the span.
func (ra *runAhead) bound(sub *subject, m *marks, span run, limit int) (fits bool, err error) {
	var a *must
	ranks := make([]int, sub.s.Ranks)
	for rank := range ranks {
		ranks[rank] = rank
	}
	fits = ra.goBack(ranks, span, func(seeds []runs) (before []runs, free int, ok bool) {
		a = newMust(sub, m, span, limit)
		if a.seeds = seeds; !a.solve() {
			return nil, 0, false
		}
		return a.enteredBefore(), a.countFree(), true
	})
	if !fits {
		return false, nil
	}
	return true, ra.judge(a)
}

// goBack goes back one operation after the other until that changes nothing, and finds how far ranks
// may run ahead of the ranks in the span. Given seeds, which are by index in ranks the ranks of the
// span that must have entered when the rank enters, solve finds those that must have entered one
// operation earlier, and how many puts go to ranks that need not have entered. ok is false if solve
// fails.
func (ra *runAhead) goBack(ranks []int, span run, solve func(seeds []runs) (before []runs, free int, ok bool)) (ok bool) {
	seeds := make([]runs, len(ranks))
	for i, rank := range ranks {
		if r := int32(rank); span.lo <= r && r < span.hi {
			seeds[i] = runs{{r, r + 1}}
		}
	}
	free, apart := math.MaxInt, math.MaxInt
	for back := 0; ; back++ {
		before, puts, ok := solve(seeds)
		if !ok {
			return false
		}
		ra.writes = fewer(&free, puts, back, ra.writes)
		behind := 0
		next := make([]runs, len(seeds))
		for i, seed := range seeds {
			behind += seed.missing(span)
			if next[i] = before[i]; !next[i].includes(seed) {
				next[i] = union(nil, next[i], seed)
			}
		}
		ra.enters = fewer(&apart, behind, back, ra.enters)
		if free == 0 && apart == 0 || back == maxAhead || back > 0 && slices.EqualFunc(seeds, next, slices.Equal) {
			for i := 0; i < len(seeds) && ra.apart == nil; i++ {
				if behind := seeds[i].firstMissing(span.lo, span.hi); behind < span.hi {
					ra.apart = &[2]int{ranks[i], int(behind)}
				}
			}
			return true
		}
		seeds = next
	}
}

// fewer records that going back so many operations leaves n cases without a bound. It returns the
// bound of the other cases.
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

// enteredBefore returns, by rank, which ranks of the span must have entered one operation earlier
// than a says, once the rank has entered.
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

// eachFree calls f for every transfer of a plain rule to a rank of the span that need not have
// entered. For a multicast it passes the first such rank.
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

// firstFree returns the first rank of the span that the action reaches and that is not in entered,
// or -1 if there is none.
func (a *must) firstFree(from int, act ir.Action, entered runs) int {
	lo, hi := a.span.lo, a.span.hi
	switch act.Op {
	case ir.Put:
		lo, hi = max(lo, act.To), min(hi, act.To+1)
	case ir.Fold: // it reaches no other rank
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

// judge examines the transfers that remain free however far one goes back: a signal is a fault, and
// a chunk needs flow control. Ranks that nothing keeps together are no fault if neither writes to
// the other.
func (ra *runAhead) judge(a *must) (err error) {
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
