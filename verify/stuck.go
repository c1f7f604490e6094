package verify

import (
	"github.com/schedgen/schedgen/ir"
)

// stuck is the wait-for graph of the slots that are never set in the worst
// world: from a slot to the first one that each rule that would set it lacks.
type stuck struct {
	sub   *subject
	start []int32 // by slot number; one more entry at the end
	waits []int32 // the slots waited for
}

func (sub *subject) stuck() *stuck {
	st := &stuck{sub: sub, start: make([]int32, sub.layout.Slots()+2)}
	total := 0
	sub.eachWait(func(slot, _ int) { st.start[slot+2]++; total++ })
	for i := 1; i < len(st.start); i++ {
		st.start[i] += st.start[i-1]
	}
	st.waits = make([]int32, total)
	sub.eachWait(func(slot, on int) {
		at := &st.start[slot+1]
		st.waits[*at] = int32(on)
		*at++
	})
	return st
}

// eachWait calls f with every slot that is never set and a put would set, and
// the slot that the put lacks.
func (sub *subject) eachWait(f func(slot, on int)) {
	for id, round := range sub.worst.Rules() {
		if round >= 0 {
			continue
		}
		rank, i := sub.layout.RuleOf(id)
		r := &sub.s.Programs[rank].Rules[i]
		on := sub.lacks(rank, r)
		for _, a := range r.Do {
			if a.Op != ir.Put || on < 0 {
				continue
			}
			if slot := sub.layout.Slot(int(a.To), a.Slot); sub.worst.Slots()[slot] < 0 {
				f(slot, on)
			}
		}
	}
}

// lacks returns the first slot of r's When that is never set, -1 if there is
// none (a repair that was called off).
func (sub *subject) lacks(rank int, r *ir.Rule) int {
	for _, w := range r.When {
		if id := sub.layout.Slot(rank, w); sub.worst.Slots()[id] < 0 {
			return id
		}
	}
	return -1
}

func (st *stuck) of(slot int64) []int32 { return st.waits[st.start[slot]:st.start[slot+1]] }
