package fixpoint

import (
	"slices"

	"github.com/schedgen/schedgen/ir"
)

// Returns tells for each rank the round after which its call returns: its done
// slots are set, and what its rules ask for has been handed over. So it is the
// latest of the rounds in which done slots are set and of those in which the
// rank sends, each the one after a rule has fired. Folds take no time. Repairs and answers to
// requests do not hold a call: they are served after it. -1 stands for a rank
// that does not enter or lacks a done slot for ever: its call never returns.
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

// Rounds returns how many rounds the operation takes: the one after which the
// last call has returned. Calls that never return do not count, see
// [Result.Returns]; it is 0 if there are no others.
func (r *Result) Rounds() int {
	last := 0
	for _, round := range r.Returns() {
		last = max(last, round)
	}
	return last
}

// doneRound returns the round in which the last done slot of rank is set, -1
// if one never is or if the rank does not enter.
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

// OnRequest tells for each rule by its number whether it has fired as a repair
// or because of one: it waits for a signal that such a rule has sent. A chunk
// that came by repair is a chunk like any other.
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
