package verify

import (
	"cmp"
	"slices"

	"github.com/schedgen/schedgen/internal/ir/fixpoint"
	"github.com/schedgen/schedgen/ir"
)

// A schedule flows downstream if every put goes to a rank that is further behind the root than the
// rank that puts. Ranks are counted from the root on, modulo their number. In such a schedule no rank
// depends on one further behind. So the ranks are examined one after the other, beginning with the
// root: all that comes to a rank is known when its turn comes, and in which round it comes. Memory
// holds one program and what is under way.
//
// The check reuse has nothing to examine: no rank puts to the root, so the root may run any number of
// operations ahead of the ranks to which it puts.
//
// This proves bcast/scatter-allgather, whose ranks pass on each chunk by itself: it has a slot and a
// rule for each chunk of each rank, and they are set in different rounds. Schedules of fewer slots are
// proved by intervals.

// maxDownstream bounds the chunks of all ranks. Each takes about a microsecond.
const maxDownstream = 1 << 26

// downstream is the quotient of the rank whose turn it is.
type downstream struct {
	quotient
	acts   slab[deed]
	coming [][]fixpoint.Arrival // by rank: what ranks before it have put to it
	rounds int                  // that the ranks so far take
}

// proveDownstream returns the report of a schedule that flows downstream and for which all checks
// hold. It returns nil if that is not the case or not known.
func proveDownstream(h ir.Header, maker func() func(rank int) ir.Program, checks []Check) *Report {
	if !mayFlowDownstream(&h, maker) {
		return nil
	}
	q := &downstream{coming: make([][]fixpoint.Arrival, h.Ranks)}
	q.s = &ir.Schedule{Header: h, Programs: make([]ir.Program, h.Ranks)}
	q.equations = equations{System: fixpoint.Unnamed(), entered: true, ranks: h.Ranks}
	q.makeRoom(1 + h.Chunks)
	k, program, cost := newPacker(&h), maker(), newPackedCost(h.Ranks)
	ahead := runAhead{}
	for at := range h.Ranks {
		rank := (h.Root + at) % h.Ranks
		p := program(rank)
		c, ok := k.pack(rank, &p)
		if !ok || c.signals > 0 || c.values > 0 {
			return nil
		}
		q.turnTo(rank, &c)
		if !q.computeRounds() || !q.wellformed() || !q.once() || !q.patient() || !q.passOn(at) {
			return nil
		}
		if at == 0 && q.Rules() > 0 {
			ahead.flow = &[2]int{rank, int(q.deeds[q.may.Fired()[0]][0].to)}
		}
		cost.add(rank, &c)
		q.rounds = max(q.rounds, q.may.Rounds())
	}
	report := &Report{Header: h, Cost: cost.total(q.s, q.rounds)}
	report.Results = leanResults(q.s, checks, map[string]string{reuse.Name: ahead.note()})
	return report
}

// mayFlowDownstream reports whether the puts of a few ranks go downstream, and the schedule has only
// chunks.
func mayFlowDownstream(h *ir.Header, maker func() func(rank int) ir.Program) bool {
	if !fitsIntervals(h) || h.Folds() || !h.Rooted() || h.Ranks < 2 || h.Ranks > maxDownstream/h.Chunks {
		return false
	}
	program := maker()
	for _, at := range []int{1, h.Ranks / 2, h.Ranks - 1} {
		p := program((h.Root + at) % h.Ranks)
		if p.Signals > 0 || p.Values > 0 || !eachPut(&p, func(a *ir.Action) bool { return behind(h, int(a.To)) > at }) {
			return false
		}
	}
	return true
}

// behind returns how far a rank is behind the root.
func behind(h *ir.Header, rank int) int { return (rank - h.Root + h.Ranks) % h.Ranks }

// turnTo makes a rank the member.
func (q *downstream) turnTo(rank int, p *packed) {
	clear(q.initial)
	clear(q.wants)
	for k := range q.s.Held(rank).All() {
		q.initial[1+k] = true
	}
	for k := range q.s.Wanted(rank).All() {
		q.wants[1+k] = true
	}
	q.arrivals, q.coming[rank] = q.coming[rank], nil
	slices.SortFunc(q.arrivals, func(a, b fixpoint.Arrival) int { return cmp.Compare(a.Round, b.Round) })
	end := int32(len(q.initial))
	none := run{end, end}
	q.members = []member{{
		rank: rank, slots: run{0, end}, chunks: run{1, end}, signals: none, values: none,
		rules: run{0, int32(len(p.rules))},
	}}
	q.Reset()
	q.ids, q.deeds = q.ids[:0], q.deeds[:0]
	q.addMember(&q.members[0], q.list(q.note(p.done)))
	for i := range p.rules {
		q.AddRule(0)
		for _, slot := range q.list(q.note(p.rules[i].when)) {
			q.Wait(slot)
		}
		deeds := q.acts.take(len(p.rules[i].do))
		for j, d := range p.rules[i].do {
			deeds[j] = deed{to: d.to, reads: q.note(d.of)}
		}
		q.deeds = append(q.deeds, deeds)
		q.EndRule()
	}
	q.link()
}

// note notes the slots of series as a list. Slot 0 is enter, and slot 1+k is chunk k.
func (q *downstream) note(all []series) run {
	from := len(q.ids)
	for _, s := range all {
		first := int32(0)
		if s.first != ir.Enter {
			first = int32(1 + s.first.Index())
		}
		for i := range s.n {
			q.ids = append(q.ids, first+i*s.step)
		}
	}
	return q.noted(from)
}

// passOn hands what the member puts to the ranks behind it. It reports whether all puts go
// downstream.
func (q *downstream) passOn(at int) bool {
	for _, rule := range q.may.Fired() {
		round := q.may.Rules()[rule] + 1
		q.rounds = max(q.rounds, int(round))
		for _, d := range q.deeds[rule] {
			if behind(&q.s.Header, int(d.to)) <= at {
				return false
			}
			for _, id := range q.list(d.reads) {
				q.coming[d.to] = append(q.coming[d.to], fixpoint.Arrival{Slot: id, Round: round})
			}
		}
	}
	return true
}
