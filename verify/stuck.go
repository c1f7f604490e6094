package verify

import (
	"github.com/schedgen/schedgen/ir"
)

// maxWaits bounds the edges of a wait-for graph that holds all of them.
const maxWaits = 1 << 18

// stuck is the wait-for graph of the slots that are never set in the worst
// world: from a slot to those that the rules that would set it lack. Of a large
// graph only the first slot that each rule lacks is kept, which is reason enough
// for it not to fire.
type stuck struct {
	sub   *subject
	start []int32 // by slot number; one more entry at the end
	waits []int32 // the slots waited for
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

// countWaits returns the number of edges, without walking along all of them.
func (sub *subject) countWaits() int {
	total := 0
	sub.eachStuck(func(rank int, r *ir.Rule, targets []int) {
		sub.eachLack(rank, r, false, func(int) { total += len(targets) })
	})
	return total
}

// eachWait calls f with every slot that is never set and a put would set, and
// the slots, or the first slot, that the put lacks.
func (sub *subject) eachWait(first bool, f func(slot, on int)) {
	sub.eachStuck(func(rank int, r *ir.Rule, targets []int) {
		for _, slot := range targets {
			sub.eachLack(rank, r, first, func(on int) { f(slot, on) })
		}
	})
}

// eachStuck calls f with every rule that never fires and the slots, never set,
// that it would put or fold.
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

// eachLack calls f with the slots of r's When that are never set, or the first
// of them; there is none if r is a repair that was called off.
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

func (st *stuck) of(slot int64) []int32 { return st.waits[st.start[slot]:st.start[slot+1]] }
