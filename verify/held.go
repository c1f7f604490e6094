package verify

import "github.com/schedgen/schedgen/ir"

// allHeld checks that a rank puts or folds a chunk or a partial result only when it has it. A rank
// has the chunks that it holds at enter, because it acts only after it has entered. It has any
// other slot if the rule waits for the slot, or if the slots for which the rule waits can only be
// set after that slot. The results of a rule's folds are there only after the rule has fired, so
// the rule itself cannot use them. A barrier's chunk has no bytes that its sender would need. The
// check barrier covers what it tells.
//
// A rule that uses a contribution must wait for enter. If the contribution is an answer, the rank
// must have the question by then. In a collective that folds, a rule that uses a chunk that the
// rank holds must wait for enter, too.
func allHeld(sub *subject) error {
	if !sub.s.HasMessage() {
		return nil
	}
	var open []claim
	var err error
	seen, folds, asked := newStamps(sub), sub.s.Folds(), sub.s.QuestionChunks()
	sub.eachRule(func(rank int, r *ir.Rule) {
		held := sub.s.Held(rank)
		seen.mark(rank, r.When)
		for _, a := range r.Do {
			kind := a.Slot.Kind()
			holds := kind == ir.KindChunk && held.Has(a.Slot.Index())
			switch {
			case kind == ir.KindInput || holds && folds:
				if err == nil && !contains(r.When, ir.Enter) {
					err = fail([]int{rank}, []Place{place(rank, ir.Enter)}, nil,
						"rank %d %ss %v in a rule that does not wait for enter", rank, a.Op, a.Slot)
				}
				for k := 0; k < asked && kind == ir.KindInput; k++ {
					if c := ir.Chunk(k); !held.Has(k) && !seen.has(rank, c) {
						open = append(open, claim{rank: rank, given: r.When, need: place(rank, c), reply: true})
						seen.add(rank, c)
					}
				}
			case (kind == ir.KindChunk && !holds || kind == ir.KindValue) && !seen.has(rank, a.Slot):
				open = append(open, claim{rank: rank, given: r.When, need: place(rank, a.Slot), use: useOf(a.Op)})
				seen.add(rank, a.Slot)
			}
		}
	})
	if err != nil {
		return err
	}
	return prove(sub, open, func(c claim) error {
		if c.reply {
			return sub.failWithout([]int{c.rank}, c.rank, c.given, c.need,
				"rank %d may use its answer before it has what it was asked, %v", c.rank, c.need.Slot)
		}
		return sub.failWithout([]int{c.rank}, c.rank, c.given, c.need,
			"rank %d may %s %v without having it", c.rank, c.use, c.need.Slot)
	})
}

// useOf returns what an action does with its slot.
func useOf(op ir.Op) ir.Op {
	if op == ir.Fold {
		return op
	}
	return ir.Put
}

// stamps is a set of slots of one rank that can be emptied in constant time.
type stamps struct {
	sub  *subject
	of   []int32 // by slot number: the generation of the set in which the slot was last added
	last int32
	upon *ir.Slot // the When of the last rule whose fold was followed: see addWithCauses
}

func newStamps(sub *subject) *stamps {
	return &stamps{sub: sub, of: make([]int32, sub.layout.Slots())}
}

// mark sets the set to the given slots of rank.
func (st *stamps) mark(rank int, slots []ir.Slot) {
	st.last++
	st.upon = nil
	for _, s := range slots {
		st.add(rank, s)
	}
}

// add adds a slot that the schedule mentions.
func (st *stamps) add(rank int, s ir.Slot) { st.of[st.sub.layout.Slot(rank, s)] = st.last }

func (st *stamps) has(rank int, s ir.Slot) bool {
	id := st.sub.layout.Slot(rank, s)
	return id >= 0 && st.of[id] == st.last
}
