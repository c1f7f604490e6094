package verify

import "github.com/schedgen/schedgen/ir"

// allHeld checks that a chunk or a partial result is put or folded only by a rank that has it. A rank
// has the chunks that it holds at enter, as it acts only once it has entered. It has another slot if
// the rule waits for it, or if what the rule waits for can only be set after the slot was. What a rule
// folds is there only after it has fired, so the rule itself cannot use it. A barrier's chunk has no
// bytes that its sender would have to have: what it tells is what check barrier is about.
//
// A rule that uses a contribution waits for enter, and the rank has what it was asked by then, if the
// contribution is an answer. In a collective that folds, a rule that uses a chunk which the rank holds
// waits for enter, too.
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

// stamps is a set of slots of one rank that is emptied in no time.
type stamps struct {
	sub  *subject
	of   []int32 // by slot number: the filling in which the slot was last put in
	last int32
	upon *ir.Slot // what the rule waits for whose fold was followed last: see addWithCauses
}

func newStamps(sub *subject) *stamps {
	return &stamps{sub: sub, of: make([]int32, sub.layout.Slots())}
}

// mark makes the set that of the given slots of rank.
func (st *stamps) mark(rank int, slots []ir.Slot) {
	st.last++
	st.upon = nil
	for _, s := range slots {
		st.add(rank, s)
	}
}

// add puts in a slot that the schedule mentions.
func (st *stamps) add(rank int, s ir.Slot) { st.of[st.sub.layout.Slot(rank, s)] = st.last }

func (st *stamps) has(rank int, s ir.Slot) bool {
	id := st.sub.layout.Slot(rank, s)
	return id >= 0 && st.of[id] == st.last
}
