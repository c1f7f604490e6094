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
// A flag at the receiver has no flow control (paper 003, section 4.2): an
// unbounded run-ahead over it is a fault. Chunks go through a transport that
// holds the sender back.
var reuse = Check{
	Name:    "reuse",
	Summary: "back to back, no flag of an operation is set before that of an earlier one is consumed; the run-ahead bound",
	applies: always,
	prove:   proveReuse,
}

// maxAhead is the largest run-ahead that counts as bounded: nobody keeps more
// generations of a flag apart.
const maxAhead = 64

// runAhead is the outcome of the check.
type runAhead struct {
	bound int     // largest run-ahead that is bounded
	flow  *[2]int // a rank that may run ahead of another one with chunks
}

func proveReuse(sub *subject) (string, error) {
	ahead, err := aheadOf(sub, maxRuns)
	if err != nil {
		return "", err
	}
	if ahead.flow != nil {
		return fmt.Sprintf("needs flow control: rank %d may run ahead of rank %d", ahead.flow[0], ahead.flow[1]), nil
	}
	return fmt.Sprintf("a rank may run ahead of another by at most %d", ahead.bound), nil
}

// aheadOf looks at everything that plain rules set; what is part of a repair
// does not matter once everybody has returned.
func aheadOf(sub *subject, limit int) (runAhead, error) {
	ahead := runAhead{}
	m := enterMarks(sub)
	err := halving(run{0, int32(sub.s.Ranks)}, func(window run) (bool, error) {
		return ahead.look(sub, m, window, limit)
	})
	return ahead, err
}

// look finds how far ranks may run ahead of those in the window.
func (ra *runAhead) look(sub *subject, m *marks, window run, limit int) (fits bool, err error) {
	var seeds []runs
	for back, before := 0, math.MaxInt; ; back++ {
		a := newMust(sub, m, window, limit)
		a.seeds = seeds
		if !a.solve() {
			return false, nil
		}
		free := 0
		a.eachFree(func(int, ir.Action, int) { free++ })
		if free < before {
			ra.bound, before = max(ra.bound, back), free
		}
		next := a.enteredBefore()
		if free == 0 || back == maxAhead || slices.EqualFunc(seeds, next, slices.Equal) {
			return true, ra.judge(a)
		}
		seeds = next
	}
}

// enteredBefore returns, by rank, which ranks of the window must have entered
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

// eachFree calls f with every transfer of a plain rule to a rank of the window
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

// firstFree returns the first rank of the window that the action reaches and
// that is not among those that have entered, -1 if there is none.
func (a *must) firstFree(from int, act ir.Action, entered runs) int {
	lo, hi := a.window.lo, a.window.hi
	if act.Op == ir.Put {
		lo, hi = max(lo, act.To), min(hi, act.To+1)
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
// chunk needs flow control.
func (ra *runAhead) judge(a *must) (err error) {
	a.eachFree(func(from int, act ir.Action, to int) {
		switch p := place(to, act.Slot); {
		case act.Slot.Kind() == ir.KindChunk && ra.flow == nil:
			ra.flow = &[2]int{from, to}
		case act.Slot.Kind() == ir.KindSignal && err == nil:
			err = fail([]int{to, from}, []Place{p}, []Step{{p, from}},
				"%v may be set again before it is consumed: rank %d sets it and may be any number of operations ahead, as nothing it waits for means that rank %d has entered",
				p, from, to)
		}
	})
	return err
}
