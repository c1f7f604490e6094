package verify

import (
	"fmt"
	"math"
	"slices"

	"github.com/schedgen/schedgen/internal/ir/fixpoint"
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
	// flag is a write of a signal that may be any number of operations ahead.
	flag *free
}

// free is a write of a slot by a rank to which nothing says that the rank of the slot has entered.
type free struct {
	from int
	slot int32
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
		sub.ahead, sub.aheadOf.err = aheadOf(&sub.equations, sub.isSignal, maxRuns)
		if f := sub.ahead.flag; sub.aheadOf.err == nil && f != nil {
			p := sub.layout.PlaceOf(int(f.slot))
			sub.aheadOf.err = fail([]int{p.Rank, f.from}, []Place{p}, []Step{{p, f.from}},
				"%v may be set again before it is consumed: rank %d sets it and may be any number of operations ahead, as nothing it waits for means that rank %d has entered",
				p, f.from, p.Rank)
		}
	}
	return sub.ahead, sub.aheadOf.err
}

// isSignal reports whether a slot of rank is a signal.
func (sub *subject) isSignal(rank, slot int32) bool {
	return sub.layout.SlotOf(int(rank), int(slot)).Kind() == ir.KindSignal
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
// have returned. signal reports whether a slot of a rank is a signal.
func aheadOf(q *equations, signal func(to, slot int32) bool, limit int) (runAhead, error) {
	ahead := runAhead{}
	err := halving(run{0, int32(q.ranks)}, func(span run) (bool, error) {
		a := newMust(q, nil, span, limit)
		if a = ahead.goBack(a); a == nil {
			return false, nil
		}
		ahead.judge(a, signal)
		return true, nil
	})
	return ahead, err
}

// goBack goes back one operation after the other until that changes nothing, and finds how far
// ranks may run ahead of the ranks in the span. It returns the last analysis, or nil if the sets
// take too much memory.
func (ra *runAhead) goBack(a *must) *must {
	free, apart := math.MaxInt, math.MaxInt
	for back := 0; ; back++ {
		if !a.solve() {
			return nil
		}
		ra.writes = fewer(&free, a.countFree(), back, ra.writes)
		behind, changed, before := 0, false, a.enteredBefore()
		for rank, seed := range a.seeds {
			behind += seed.missing(a.span)
			changed = changed || !slices.Equal(seed, before[rank])
		}
		ra.enters = fewer(&apart, behind, back, ra.enters)
		if free == 0 && apart == 0 || back == maxAhead || back > 0 && !changed {
			for rank, seed := range a.seeds {
				if behind := seed.firstMissing(a.span.lo, a.span.hi); ra.apart == nil && behind < a.span.hi {
					ra.apart = &[2]int{rank, int(behind)}
				}
			}
			return a
		}
		next := newMust(a.equations, nil, a.span, a.limit)
		next.seeds = before
		a = next
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
	a.eachFree(func(int, int32, int32) { n++ })
	return n
}

// enteredBefore returns, by rank, which ranks of the span must have entered one operation earlier
// than a says, once the rank has entered.
func (a *must) enteredBefore() []runs {
	before := make([]runs, a.Ranks())
	for rank, self := range a.seeds {
		set := a.needed(a.Done(rank))
		if !set.includes(self) {
			set = union(nil, set, self)
		}
		before[rank] = set
	}
	return before
}

// eachFree calls f for every transfer of a plain rule to a rank of the span that need not have
// entered. For a multicast it passes the first such rank.
func (a *must) eachFree(f func(from int, to, slot int32)) {
	for _, rule := range a.may.Fired() {
		from, does := a.RankOf(int(rule)), a.Does(int(rule))
		if a.IsRepair(int(rule)) || a.awaitsRequest(int(rule)) {
			continue
		}
		entered := a.sets[a.rules[rule]]
		for _, s := range does {
			lo, hi := a.span.lo, a.span.hi
			switch s.To {
			case fixpoint.Here: // it reaches no other rank
				continue
			case fixpoint.All:
			default:
				lo, hi = max(lo, s.To), min(hi, s.To+1)
			}
			if lo >= hi {
				continue
			}
			to := entered.firstMissing(lo, hi)
			if int(to) == from {
				to = entered.firstMissing(to+1, hi)
			}
			switch {
			case to >= hi:
			case s.To == fixpoint.All:
				f(from, to, a.Cast(s.Slot)[to])
			default:
				f(from, to, s.Slot)
			}
		}
	}
}

// judge examines the transfers that remain free however far one goes back: a signal is a fault, and
// a chunk needs flow control. Ranks that nothing keeps together are no fault if neither writes to
// the other.
func (ra *runAhead) judge(a *must, signal func(to, slot int32) bool) {
	a.eachFree(func(from int, to, slot int32) {
		if ra.flow != nil && ra.flag != nil {
			return
		}
		switch is := signal(to, slot); {
		case is && ra.flag == nil:
			ra.flag = &free{from, slot}
		case !is && ra.flow == nil:
			ra.flow = &[2]int{from, int(to)}
		}
	})
}
