package verify

import (
	"slices"

	"github.com/schedgen/schedgen/ir"
)

// A rank returns when its Done slots are set and none of its rules is ready. So the slots that are
// set then are closed under the rank's own folds: if all slots are set for which a fold's rule
// waits, the fold's result is set. Conversely, if only one fold makes a slot and that slot is set,
// all slots are set for which the fold's rule waits. Both follow from the rank's program alone. The
// analysis of what must be set (must) only has to find out what comes from other ranks.
//
// Terms show more. A result that includes the rank's own contribution cannot be there before the
// contribution was read. If only one action reads it, the rule of that action has fired.

// returned makes st the set of slots of rank that the rank's own program shows to be set when it
// returns.
func (st *stamps) returned(rank int) {
	p := &st.sub.s.Programs[rank]
	st.mark(rank, nil)
	for _, s := range p.Done {
		st.addWithCauses(rank, s)
	}
	if st.sub.termsShow() {
		for x, rule := range soleReaders(p) {
			for k := x.Index(); k < st.sub.s.Chunks; k += st.sub.s.InputChunks() {
				if c := ir.Chunk(k); rank < st.sub.s.FoldedRanks(k) && st.has(rank, c) {
					for _, w := range p.Rules[rule].When {
						st.addWithCauses(rank, w)
					}
				}
			}
		}
	}
	for again := st.sub.folds; again; {
		again = false
		for i := range p.Rules {
			again = st.fold(rank, &p.Rules[i]) || again
		}
	}
}

// termsShow reports whether results are proved to be folded correctly, so that they show which
// contributions have been read.
func (sub *subject) termsShow() bool {
	if !sub.shown.known {
		sub.shown.known = true
		if sub.wellformed && sub.s.Folds() {
			sub.shown.err = firstError(sub, proveContributes, proveSameTree)
		}
	}
	return sub.wellformed && sub.s.Folds() && sub.shown.err == nil
}

// soleReaders returns the parts of the contribution that exactly one action of the rank reads, with
// the rule of that action.
func soleReaders(p *ir.Program) map[ir.Slot]int {
	readers := make(map[ir.Slot]int)
	var several []ir.Slot
	for i := range p.Rules {
		for _, a := range p.Rules[i].Do {
			if a.Slot.Kind() != ir.KindInput {
				continue
			}
			if _, again := readers[a.Slot]; again {
				several = append(several, a.Slot)
			}
			readers[a.Slot] = i
		}
	}
	for _, x := range several {
		delete(readers, x)
	}
	return readers
}

// addWithCauses adds a slot of rank. If only one fold makes the slot, it also adds the slots for
// which that fold's rule waits.
func (st *stamps) addWithCauses(rank int, s ir.Slot) {
	if st.has(rank, s) {
		return
	}
	st.add(rank, s)
	if when := st.sub.foldedUpon(rank, s); when != nil && &when[0] != st.upon {
		st.upon = &when[0] // a rule may make many slots
		for _, w := range when {
			st.addWithCauses(rank, w)
		}
	}
}

// fold adds the slots that a rule folds, if the set has all slots for which the rule waits. It
// reports whether it has added any.
func (st *stamps) fold(rank int, r *ir.Rule) (grown bool) {
	fired := false
	for _, a := range r.Do {
		if a.Op != ir.Fold || st.has(rank, a.As) {
			continue
		}
		if !fired && slices.ContainsFunc(r.When, func(w ir.Slot) bool { return !st.given(rank, w) }) {
			return false
		}
		fired, grown = true, true
		st.add(rank, a.As)
	}
	return grown
}

// given reports whether the set shows that a slot is set when the rank returns.
func (st *stamps) given(rank int, s ir.Slot) bool {
	return s == ir.Enter || s.Kind() == ir.KindChunk && st.sub.s.Holds(rank, s.Index()) || st.has(rank, s)
}

// claim appends the claims that s is set when rank returns, and adds s to the set st of that rank.
// asked is the slot for which s is needed.
func (st *stamps) claim(open []claim, rank int, s, asked ir.Slot) []claim {
	if st.given(rank, s) {
		return open
	}
	sub := st.sub
	if sub.layout.Slot(rank, s) >= 0 {
		st.add(rank, s)
		if when := sub.foldedUpon(rank, s); when != nil && sub.may.Slot(rank, s) >= 0 {
			for _, w := range when {
				open = st.claim(open, rank, w, asked)
			}
			return open
		}
	}
	return append(open, claim{rank: rank, given: sub.s.Programs[rank].Done, need: place(rank, s), asked: asked})
}

// The maker of a slot, if it is not a single rule.
const (
	madeByNothing = -1
	madeByOthers  = -2 // a put, a multicast, or more than one rule
)

// foldedUpon returns the slots for which a rule waits, if a fold of this rule is the only maker of
// slot s of rank. Otherwise it returns nil.
func (sub *subject) foldedUpon(rank int, s ir.Slot) []ir.Slot {
	if !sub.folds {
		return nil
	}
	if sub.maker == nil {
		sub.findMakers()
	}
	id := sub.layout.Slot(rank, s)
	if id < 0 || sub.maker[id] < 0 {
		return nil
	}
	_, i := sub.layout.RuleOf(int(sub.maker[id]))
	return sub.s.Programs[rank].Rules[i].When
}

// findMakers fills in maker.
func (sub *subject) findMakers() {
	sub.maker = make([]int32, sub.layout.Slots())
	for i := range sub.maker {
		sub.maker[i] = madeByNothing
	}
	caster := make(map[ir.Slot]int) // the rank that multicasts a chunk, -1: several do
	for rank := range sub.s.Programs {
		rules := sub.s.Programs[rank].Rules
		for i := range rules {
			do := rules[i].Do
			for j, a := range do {
				if a.Op == ir.Mcast {
					if was, ok := caster[a.Slot]; ok && was != rank {
						caster[a.Slot] = -1
					} else {
						caster[a.Slot] = rank
					}
				}
				id, rule := sub.target(rank, do, j), int32(sub.layout.Rule(rank, i))
				switch {
				case id < 0:
				case a.Op == ir.Fold && (sub.maker[id] == madeByNothing || sub.maker[id] == rule):
					sub.maker[id] = rule
				default:
					sub.maker[id] = madeByOthers
				}
			}
		}
	}
	if len(caster) == 0 {
		return
	}
	for id, rule := range sub.maker {
		if rule < 0 {
			continue
		}
		p := sub.layout.PlaceOf(id)
		if by, cast := caster[p.Slot]; cast && by != p.Rank {
			sub.maker[id] = madeByOthers
		}
	}
}
