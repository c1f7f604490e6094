package verify

import (
	"slices"

	"github.com/schedgen/schedgen/internal/ir/fixpoint"
	"github.com/schedgen/schedgen/ir"
)

// subject is a schedule whose ranks and slots are in range, with results that several checks share.
type subject struct {
	s      *ir.Schedule
	layout *fixpoint.Layout

	// The slots that end up set in three worlds. The third is the one of the equations, in which
	// nothing is lost and every possible repair is made. The worlds are the same if there are no
	// multicasts and no repairs.
	calm  *fixpoint.Result // nothing is lost, no repair is made
	worst *fixpoint.Result // every multicast is lost, repairs are made as needed
	equations

	repairs    bool     // there are repair rules
	mcasts     bool     // there are multicasts
	folds      bool     // there are folds
	wellformed bool     // the schedule is well-formed: what rules use is there
	unordered  bool     // folds have no order
	terms      *values  // see values
	maker      []int32  // by slot number: the rule that alone makes the slot, by a fold; see foldedUpon
	typing     finding  // result of the check typed
	overlaps   finding  // see overlap
	shown      finding  // see termsShow
	ahead      runAhead // see runAhead
	aheadOf    finding  // known and error of ahead
}

// finding is a result that several checks share. known says whether it has been computed.
type finding struct {
	known bool
	err   error
}

func newSubject(s *ir.Schedule) (*subject, error) {
	if err := ir.Validate(s); err != nil {
		return nil, fail(nil, nil, nil, "%v", err)
	}
	system, err := fixpoint.NewSystem(s)
	if err != nil {
		return nil, err
	}
	return subjectOf(s, system), nil
}

// subjectOf returns the subject for the System of s.
func subjectOf(s *ir.Schedule, system *fixpoint.System) *subject {
	sub := &subject{s: s, layout: system.Layout(), equations: equations{System: system, entered: s.HasMessage(), ranks: s.Ranks}}
	sub.findKinds()
	sub.calm = sub.Run(fixpoint.Model{})
	sub.worst, sub.may = sub.calm, sub.calm
	if sub.repairs {
		sub.may = sub.Run(fixpoint.Model{EveryRepair: true})
	}
	if sub.repairs || sub.mcasts {
		sub.worst = sub.Run(worstWorld)
	}
	return sub
}

// worstWorld is the world in which the least happens.
var worstWorld = fixpoint.Model{LoseMcast: true, Repairs: true}

// without returns everything that can happen if the given slot is never set.
func (sub *subject) without(p Place) *fixpoint.Result {
	return sub.Run(allBut(p))
}

// allBut is the world in which everything happens that can happen without p.
func allBut(p Place) fixpoint.Model {
	return fixpoint.Model{EveryRepair: true, Without: []Place{p}}
}

// findKinds finds out whether there are repairs, multicasts and folds, and which signals are
// requests.
func (sub *subject) findKinds() {
	sub.eachRule(func(_ int, r *ir.Rule) {
		sub.repairs = sub.repairs || r.IsRepair()
		for _, a := range r.Do {
			sub.mcasts = sub.mcasts || a.Op == ir.Mcast
			sub.folds = sub.folds || a.Op == ir.Fold
		}
	})
	for rank := range sub.s.Programs {
		request := sub.s.Programs[rank].Requests()
		if request != nil && sub.request == nil {
			sub.request = make([]bool, sub.Slots())
		}
		for j, is := range request {
			if is {
				sub.request[sub.layout.Slot(rank, ir.Signal(j))] = true
			}
		}
	}
}

// lacks returns the chunks that rank wants and does not hold.
func (sub *subject) lacks(rank int) lacking {
	wanted := sub.s.Wanted(rank)
	return lacking{wanted: wanted.Blocks, held: sub.s.Held(rank).Blocks, per: wanted.Per}
}

// lacking iterates over chunks in ascending order. It skips the chunks that a rank holds by whole
// blocks, because a root that wants the message may hold any number of chunks.
type lacking struct {
	wanted, held ir.Blocks
	per          int
	block        int // index in wanted of the next block
	next, end    int // the rest of the current block
}

// chunk returns the next chunk. ok is false if there is none.
func (l *lacking) chunk() (c ir.Slot, ok bool) {
	for l.next == l.end {
		if l.block == l.wanted.Count {
			return ir.None, false
		}
		b := l.wanted.At(l.block)
		if l.block++; l.held.Index(b) < 0 {
			l.next, l.end = b*l.per, (b+1)*l.per
		}
	}
	l.next++
	return ir.Chunk(l.next - 1), true
}

// target returns the number of the slot that action i of do sets, for a rule of rank. It is -1 for
// a multicast, which sets many slots, and for an operand of a fold that is not its last.
func (sub *subject) target(rank int, do []ir.Action, i int) int {
	switch a := do[i]; {
	case a.Op == ir.Put:
		return sub.layout.Slot(int(a.To), a.Sets())
	case a.Op == ir.Fold && (i+1 == len(do) || !do[i+1].Joins):
		return sub.layout.Slot(rank, a.As)
	}
	return -1
}

func (sub *subject) isRequest(p Place) bool {
	return sub.request != nil && sub.request[sub.layout.Slot(p.Rank, p.Slot)]
}

// awaitsRequest reports whether the rule is part of a repair: it waits for a request, so it may
// never fire.
func (q *equations) awaitsRequest(rule int) bool {
	return q.request != nil && slices.ContainsFunc(q.When(rule), func(w int32) bool { return q.request[w] })
}

// numbers appends the numbers of slots of rank.
func (sub *subject) numbers(to []int32, rank int, slots []ir.Slot) []int32 {
	for _, s := range slots {
		to = append(to, int32(sub.layout.Slot(rank, s)))
	}
	return to
}

// eachRule calls f for every rule and its rank, in order.
func (sub *subject) eachRule(f func(rank int, r *ir.Rule)) {
	for rank := range sub.s.Programs {
		rules := sub.s.Programs[rank].Rules
		for i := range rules {
			f(rank, &rules[i])
		}
	}
}

// contains reports whether slots contains s.
func contains(slots []ir.Slot, s ir.Slot) bool {
	for _, x := range slots {
		if x == s {
			return true
		}
	}
	return false
}
