package verify

import (
	"errors"
	"fmt"

	"github.com/schedgen/schedgen/ir"
)

// reuse looks at the schedule run back to back, without any synchronisation
// between the operations. A slot of rank b that rank a writes can be written
// for operation k+d while b has not finished k; the run-ahead is the largest
// such d, and d+1 generations of the slot keep them apart.
//
// Rank a, acting in operation m, knows that certain ranks have entered m: those
// that what it waits for needs (must-analysis). A rank that has entered m has
// returned from m-1, so what its done needs has entered m-1; and so on. The
// run-ahead of a over b is thus the distance from what a's rule needs to b in
// the graph with an edge from c to every rank that must have entered before c
// returns, and unbounded where there is no way.
//
// A flag at the receiver has no flow control (paper 003, section 4.2): an
// unbounded run-ahead over it is a fault. Chunks go through a transport that
// holds the sender back. Where a chunk has several writers the bound may come out
// larger than it is, since only what all of them need is counted.
var reuse = Check{
	Name:    "reuse",
	Summary: "back to back, no flag of an operation is set before that of an earlier one is consumed; the run-ahead bound",
	applies: always,
	prove:   proveReuse,
}

// runAhead is the state of the check.
type runAhead struct {
	sub   *subject
	must  *must
	known *unionTree // by rank c: the ranks that must have entered before c returns
	bound int        // largest run-ahead that is bounded
	flow  *[2]int    // a rank that may run ahead of another one with chunks
}

func proveReuse(sub *subject) (string, error) {
	ahead, err := aheadOf(sub)
	if errors.Is(err, errIrregular) {
		return reuseOfBarrier(sub)
	}
	if err != nil {
		return "", err
	}
	return ahead.note(), nil
}

// aheadOf looks at everything that rules set if no repair is made.
func aheadOf(sub *subject) (*runAhead, error) {
	a := newMust(sub, enterMarks(sub), run{0, int32(sub.s.Ranks)})
	if !a.solve() {
		return nil, errIrregular
	}
	known, ok := newUnionTree(knownAtReturn(a), maxRuns)
	if !ok {
		return nil, errIrregular
	}
	ahead := &runAhead{sub: sub, must: a, known: known}
	for _, id := range sub.may.Fired() {
		rank, i := sub.layout.RuleOf(int(id))
		if r := &sub.s.Programs[rank].Rules[i]; !r.IsRepair() && !sub.awaitsRequest(rank, r) {
			if err := ahead.rule(rank, r, a.sets[a.rules[id]]); err != nil {
				return nil, err
			}
		}
	}
	return ahead, nil
}

// reuseOfBarrier decides where the sets do not fit in memory: after a barrier
// every rank knows of every other.
func reuseOfBarrier(sub *subject) (string, error) {
	if isBarrier(sub.s) {
		if _, err := proveBarrier(sub); err == nil {
			return (&runAhead{bound: 1}).note(), nil
		}
	}
	return "", errIrregular
}

func (ra *runAhead) note() string {
	note := fmt.Sprintf("a rank may run ahead of another by at most %d", ra.bound)
	if ra.flow != nil {
		note = fmt.Sprintf("needs flow control: rank %d may run ahead of rank %d", ra.flow[0], ra.flow[1])
	}
	return note
}

// knownAtReturn returns, by rank, which ranks must have entered before it
// returns, itself included.
func knownAtReturn(a *must) []runs {
	known := make([]runs, a.sub.s.Ranks)
	for rank := range known {
		self := runs{{int32(rank), int32(rank) + 1}}
		set := a.needed(rank, a.sub.s.Programs[rank].Done)
		if !set.includes(self) {
			set = union(nil, set, self)
		}
		known[rank] = set
	}
	return known
}

// rule takes in what a rule of rank sets once the ranks in need have entered.
func (ra *runAhead) rule(rank int, r *ir.Rule, need runs) error {
	reach := []runs{need}
	for _, a := range r.Do {
		if a.Op == ir.Mcast {
			reach = ra.mcast(rank, reach)
			continue
		}
		var d int
		d, reach = ra.distance(reach, run{a.To, a.To + 1})
		switch {
		case d >= 0:
			ra.bound = max(ra.bound, d)
		case a.Slot.Kind() == ir.KindSignal:
			p := place(int(a.To), a.Slot)
			return fail([]int{p.Rank, rank}, []Place{p}, []Step{{p, rank}},
				"%v may be set again before it is consumed: rank %d sets it and may be any number of operations ahead, as nothing it waits for means that rank %d has entered",
				p, rank, p.Rank)
		default:
			ra.flow = firstOf(ra.flow, rank, int(a.To))
		}
	}
	return nil
}

// mcast takes in a multicast to the ranks on both sides of the sender.
func (ra *runAhead) mcast(rank int, reach []runs) []runs {
	for _, others := range []run{{0, int32(rank)}, {int32(rank) + 1, int32(ra.sub.s.Ranks)}} {
		var d int
		if d, reach = ra.distance(reach, others); d >= 0 {
			ra.bound = max(ra.bound, d)
			continue
		}
		ra.flow = firstOf(ra.flow, rank, int(reach[len(reach)-1].firstMissing(others.lo, others.hi)))
	}
	return reach
}

func firstOf(have *[2]int, a, b int) *[2]int {
	if have != nil {
		return have
	}
	return &[2]int{a, b}
}

// distance returns how many steps lead from reach[0] to all of the ranks in to,
// -1 if none do. reach[d] holds what d steps reach and is extended as needed.
func (ra *runAhead) distance(reach []runs, to run) (int, []runs) {
	for d := 0; ; d++ {
		if reach[d].firstMissing(to.lo, to.hi) >= to.hi {
			return d, reach
		}
		if d+1 < len(reach) {
			continue
		}
		next := ra.known.union(reach[d])
		if reach[d].includes(next) {
			return -1, reach
		}
		reach = append(reach, next)
	}
}
