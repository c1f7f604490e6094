package fixpoint

import (
	"slices"

	"github.com/schedgen/schedgen/ir"
)

// Returns returns, by rank, the round after which the rank's call returns, or -1 if the call never
// returns. A call returns when its Done slots are set and the sends of its rules are over. A send
// is over in the round after its rule has fired, and folds take no time. Repairs and answers to
// requests do not delay a call, because the rank serves them after the call. A call never returns
// if the rank does not enter or never gets a Done slot.
func (r *Result) Returns() []int {
	out := make([]int, r.layout.Ranks())
	for rank := range out {
		out[rank] = r.doneRound(rank)
	}
	onRequest := r.OnRequest()
	for _, id := range r.fired {
		rank, i := r.layout.RuleOf(int(id))
		if out[rank] < 0 || onRequest[id] || len(r.schedule.Programs[rank].Rules[i].Do) == 0 {
			continue
		}
		round := int(r.rules[id])
		if slices.ContainsFunc(r.schedule.Programs[rank].Rules[i].Do, func(a ir.Action) bool { return a.Op != ir.Fold }) {
			round++
		}
		out[rank] = max(out[rank], round)
	}
	return out
}

// Rounds returns the number of rounds that the operation takes: the last round of [Result.Returns].
// Calls that never return do not count. Rounds is 0 if no call returns.
func (r *Result) Rounds() int {
	last := 0
	for _, round := range r.Returns() {
		last = max(last, round)
	}
	return last
}

// doneRound returns the round in which the last Done slot of rank is set, or -1 if one never is or
// the rank does not enter.
func (r *Result) doneRound(rank int) int {
	last := r.Slot(rank, ir.Enter)
	for _, slot := range r.schedule.Programs[rank].Done {
		at := r.Slot(rank, slot)
		if at < 0 || last < 0 {
			return -1
		}
		last = max(last, at)
	}
	return last
}

// OnRequest returns, by rule number, whether the rule has fired as a repair or because of one. A
// rule fires because of a repair if it waits for a signal that such a rule has sent. A rule that
// waits for a chunk does not, even if a repair has brought the chunk.
func (r *Result) OnRequest() []bool {
	out := make([]bool, len(r.rules))
	for _, id := range r.fired {
		rank, i := r.layout.RuleOf(int(id))
		rule := &r.schedule.Programs[rank].Rules[i]
		out[id] = rule.IsRepair()
		for _, slot := range rule.When {
			if slot.Kind() != ir.KindSignal {
				continue
			}
			if cause := r.causes[r.layout.Slot(rank, slot)]; cause >= 0 && out[cause] {
				out[id] = true
			}
		}
	}
	return out
}
