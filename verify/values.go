package verify

import (
	"cmp"
	"slices"

	"github.com/schedgen/schedgen/ir"
)

// values are the terms of everything that a schedule folds and puts. If the check same-tree holds,
// a slot has one term, whatever is lost and in whatever order the rest arrives. Otherwise values
// has the term that comes first.
type values struct {
	*forest
	slots []term       // by slot number; node is noNode if nothing is known
	made  []made       // chunks that folds make, by chunk and rank
	first map[int]made // by chunk: the first of them
}

// made is a chunk that a fold of a rank makes.
type made struct {
	Place
	term
}

// values returns the terms, or nil if nothing is folded or renamed.
func (sub *subject) values() *values {
	if sub.terms == nil && (sub.unordered || foldsAnything(sub.s)) {
		sub.terms = valuesOf(sub)
	}
	return sub.terms
}

func valuesOf(sub *subject) *values {
	v := &values{forest: newForest(sub.s.Ranks), slots: make([]term, sub.layout.Slots()), first: make(map[int]made)}
	v.unordered = sub.unordered
	for i := range v.slots {
		v.slots[i] = term{node: noNode}
	}
	for _, id := range sub.may.Fired() {
		rank, i := sub.layout.RuleOf(int(id))
		do := sub.s.Programs[rank].Rules[i].Do
		var acc term
		for j, a := range do {
			if a.Slot.Kind() == ir.KindSignal {
				continue
			}
			t := v.read(sub, rank, a.Slot)
			switch {
			case a.Op == ir.Mcast:
				for to := range sub.s.Programs {
					if to != rank {
						v.arrive(sub.layout.Slot(to, a.Slot), t)
					}
				}
				continue
			case a.Op == ir.Put || !a.Joins:
				acc = t
			case acc.node == noNode || t.node == noNode:
				acc = term{node: noNode}
			default:
				acc = v.fold(acc, t)
			}
			to := sub.target(rank, do, j)
			if to < 0 {
				continue
			}
			v.arrive(to, acc)
			if a.Op == ir.Fold && a.As.Kind() == ir.KindChunk && acc.node != noNode {
				v.add(rank, a.As, acc)
			}
		}
	}
	v.sort()
	return v
}

// add notes that a fold of a rank makes a chunk.
func (v *values) add(rank int, chunk ir.Slot, t term) {
	v.made = append(v.made, made{place(rank, chunk), t})
}

// sort sorts what folds have made, and finds the first of each chunk.
func (v *values) sort() {
	slices.SortStableFunc(v.made, func(a, b made) int {
		return cmp.Or(cmp.Compare(a.Slot, b.Slot), cmp.Compare(a.Rank, b.Rank))
	})
	for _, m := range v.made {
		if _, ok := v.first[m.Slot.Index()]; !ok {
			v.first[m.Slot.Index()] = m
		}
	}
}

// right reports whether the checks contributes and same-tree hold.
func (v *values) right(h *ir.Header) bool { return v.contributed(h) == nil && v.sameTree() == nil }

// read returns the term of a slot that rank uses.
func (v *values) read(sub *subject, rank int, s ir.Slot) term {
	switch {
	case s.Kind() == ir.KindInput:
		return v.contribution(rank, s.Index())
	case s.Kind() == ir.KindChunk && sub.s.Holds(rank, s.Index()):
		return v.given(s.Index())
	}
	return v.slots[sub.layout.Slot(rank, s)]
}

func (v *values) arrive(slot int, t term) {
	if v.slots[slot].node == noNode {
		v.slots[slot] = t
	}
}

// foldsAnything reports whether a schedule folds or renames anything, or should fold.
func foldsAnything(s *ir.Schedule) bool {
	if s.Folds() {
		return true
	}
	for rank := range s.Programs {
		rules := s.Programs[rank].Rules
		for i := range rules {
			for _, a := range rules[i].Do {
				if a.Op == ir.Fold || a.As != ir.None {
					return true
				}
			}
		}
	}
	return false
}
