package verify

import (
	"github.com/schedgen/schedgen/ir"
)

// allHeld checks that a chunk is put only by a rank that has it. A rank has the chunks that it holds
// at enter, as it acts only once it has entered. It has another chunk if the rule waits for it, or
// if what the rule waits for can only be set after the chunk was. A barrier's chunk has no bytes that its sender would
// have to have: what it tells is what check barrier is about.
func allHeld(sub *subject) error {
	if !sub.s.HasMessage() {
		return nil
	}
	var open []claim
	seen := newStamps(sub)
	sub.eachRule(func(rank int, r *ir.Rule) {
		held := sub.s.Held(rank)
		seen.mark(rank, r.When)
		for _, a := range r.Do {
			if a.Slot.Kind() == ir.KindChunk && !held.Has(a.Slot.Index()) && !seen.has(rank, a.Slot) {
				open = append(open, claim{rank: rank, given: r.When, need: place(rank, a.Slot)})
				seen.add(rank, a.Slot)
			}
		}
	})
	return prove(sub, open, func(c claim) error {
		return sub.failWithout([]int{c.rank}, c.rank, c.given, c.need,
			"rank %d may put %v without having it", c.rank, c.need.Slot)
	})
}

// stamps is a set of slots of one rank that is emptied in no time.
type stamps struct {
	sub  *subject
	of   []int32 // by slot number: the filling in which the slot was last put in
	last int32
}

func newStamps(sub *subject) *stamps {
	return &stamps{sub: sub, of: make([]int32, sub.layout.Slots())}
}

// mark makes the set that of the given slots of rank.
func (st *stamps) mark(rank int, slots []ir.Slot) {
	st.last++
	for _, s := range slots {
		st.add(rank, s)
	}
}

func (st *stamps) add(rank int, s ir.Slot) { st.of[st.sub.layout.Slot(rank, s)] = st.last }

func (st *stamps) has(rank int, s ir.Slot) bool {
	id := st.sub.layout.Slot(rank, s)
	return id >= 0 && st.of[id] == st.last
}
