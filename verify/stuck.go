package verify

import (
	"github.com/schedgen/schedgen/ir"
)

// maxWaits bounds the edges of a complete wait-for graph.
const maxWaits = 1 << 18

// stuck is the wait-for graph of the slots that are never set in the worst world. An edge leads
// from a slot that a rule would set to a slot that the rule lacks. A large graph keeps only the
// first slot that each rule lacks, because that alone keeps the rule from firing.
type stuck struct {
	sub   *subject
	start []int32 // by slot number; one more entry at the end
	waits []int32 // the slots that are waited for
}

func (sub *subject) stuck() *stuck {
	first := sub.countWaits() > maxWaits
	st := &stuck{sub: sub, start: make([]int32, sub.layout.Slots()+2)}
	sub.eachWait(first, func(slot, _ int) { st.start[slot+2]++ })
	for i := 1; i < len(st.start); i++ {
		st.start[i] += st.start[i-1]
	}
	st.waits = make([]int32, st.start[len(st.start)-1])
	sub.eachWait(first, func(slot, on int) {
		at := &st.start[slot+1]
		st.waits[*at] = int32(on)
		*at++
	})
	return st
}

// countWaits returns the number of edges without visiting all of them.
func (sub *subject) countWaits() int {
	total := 0
	sub.eachStuck(func(rank int, r *ir.Rule, targets []int) {
		sub.eachLack(rank, r, false, func(int) { total += len(targets) })
	})
	return total
}

// eachWait calls f for every slot that is never set and that a rule would set, with each slot that
// the rule lacks, or only the first such slot.
func (sub *subject) eachWait(first bool, f func(slot, on int)) {
	sub.eachStuck(func(rank int, r *ir.Rule, targets []int) {
		for _, slot := range targets {
			sub.eachLack(rank, r, first, func(on int) { f(slot, on) })
		}
	})
}

// eachStuck calls f for every rule that never fires, with the slots that it would put or fold and
// that are never set.
func (sub *subject) eachStuck(f func(rank int, r *ir.Rule, targets []int)) {
	var targets []int
	for id, round := range sub.worst.Rules() {
		if round >= 0 {
			continue
		}
		rank, i := sub.layout.RuleOf(id)
		r := &sub.s.Programs[rank].Rules[i]
		targets = targets[:0]
		for i := range r.Do {
			if slot := sub.target(rank, r.Do, i); slot >= 0 && sub.worst.Slots()[slot] < 0 {
				targets = append(targets, slot)
			}
		}
		f(rank, r, targets)
	}
}

// eachLack calls f for each slot of r's When that is never set, or only for the first. There is
// none if r is a repair that was cancelled.
func (sub *subject) eachLack(rank int, r *ir.Rule, first bool, f func(on int)) {
	for _, w := range r.When {
		if id := sub.layout.Slot(rank, w); sub.worst.Slots()[id] < 0 {
			f(id)
			if first {
				return
			}
		}
	}
}

// waitingFor returns the slots for which the given slot waits.
func (st *stuck) waitingFor(slot int64) []int32 { return st.waits[st.start[slot]:st.start[slot+1]] }
