package verify

import "fmt"

var rankOrder = Check{
	Name:    "rank-order",
	Summary: "a note, or a proof if the algorithm promises it: contributions are folded in the order of ranks, so operations need not commute",
	scope:   &everyFold,
	prove:   proveRankOrder,
}

func proveRankOrder(sub *subject) (string, error) {
	v := sub.values()
	note, m := v.noteRankOrder()
	if m != nil && promised[sub.s.Name()].rankOrder {
		before, after := v.firstOutOfOrder(m.tree())
		return "", fail([]int{m.Rank, before, after}, []Place{m.Place}, nil, "%s: %s", note, v.spell(m.tree()))
	}
	return note, nil
}

// noteRankOrder says whether chunks are folded in the order of the ranks, and returns one that is
// not.
func (v *values) noteRankOrder() (note string, m *made) {
	if m = outOfOrder(v); m == nil {
		return "also for operations that do not commute", nil
	}
	before, after := v.firstOutOfOrder(m.tree())
	return fmt.Sprintf("commutative only: rank %d's contribution is folded before rank %d's at rank %d", before, after, m.Rank), m
}

// outOfOrder returns the first chunk that is not folded in the order of the ranks, or nil if there
// is none.
func outOfOrder(v *values) *made {
	for i := range v.made {
		if !v.inOrder(v.made[i].tree()) {
			return &v.made[i]
		}
	}
	return nil
}
