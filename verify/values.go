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
	if sub.terms == nil && foldsAnything(sub.s) {
		sub.terms = valuesOf(sub)
	}
	return sub.terms
}

func valuesOf(sub *subject) *values {
	v := &values{forest: newForest(sub.s.Ranks), slots: make([]term, sub.layout.Slots()), first: make(map[int]made)}
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

// results are the trees of the chunks that are folded, in the order of the parts of the
// contributions.
type results struct {
	of    int    // the chunks are c<of·InputChunks> …
	trees []tree // by part
}

// results returns the trees of each block that is folded from all parts of the contributions. ok is
// false if no fold makes some chunk of such a block.
func (v *values) results(h *ir.Header) (all []results, ok bool) {
	parts := h.InputChunks()
	if parts == 0 {
		return nil, false
	}
	chunks := make([]int, 0, len(v.first))
	for k := range v.first {
		if h.FoldedRanks(k) > 0 {
			chunks = append(chunks, k)
		}
	}
	slices.Sort(chunks)
	for _, k := range chunks {
		if last := len(all) - 1; last < 0 || all[last].of != k/parts {
			all = append(all, results{of: k / parts})
		}
		r := &all[len(all)-1]
		if len(r.trees) != k%parts {
			return nil, false
		}
		r.trees = append(r.trees, v.first[k].tree())
	}
	for _, r := range all {
		if len(r.trees) != parts {
			return nil, false
		}
	}
	return all, len(all) > 0
}
