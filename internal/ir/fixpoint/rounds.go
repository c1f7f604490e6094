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
	y := r.system
	out := make([]int, y.Ranks())
	for rank := range out {
		out[rank] = r.doneRound(rank)
	}
	onRequest := r.OnRequest()
	for _, rule := range r.fired {
		rank, does := y.owner[rule], y.Does(int(rule))
		if out[rank] < 0 || onRequest[rule] || len(does) == 0 {
			continue
		}
		round := int(r.rules[rule])
		if slices.ContainsFunc(does, func(s Set) bool { return s.To != Here }) {
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
	last := r.slots[r.system.enter[rank]]
	for _, slot := range r.system.Done(rank) {
		if last < 0 || r.slots[slot] < 0 {
			return -1
		}
		last = max(last, r.slots[slot])
	}
	return int(last)
}

// OnRequest returns, by rule number, whether the rule has fired as a repair or because of one. A
// rule fires because of a repair if it waits for a signal that such a rule has sent. A rule that
// waits for a chunk does not, even if a repair has brought the chunk.
func (r *Result) OnRequest() []bool {
	y, out := r.system, make([]bool, len(r.rules))
	if y.unless == nil {
		return out
	}
	for _, rule := range r.fired {
		out[rule] = y.IsRepair(int(rule))
		for _, slot := range y.When(int(rule)) {
			if cause := r.causes[slot]; cause >= 0 && out[cause] && y.layout.PlaceOf(int(slot)).Slot.Kind() == ir.KindSignal {
				out[rule] = true
			}
		}
	}
	return out
}
