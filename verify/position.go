package verify

import (
	"fmt"

	"github.com/schedgen/schedgen/ir"
)

var position = Check{
	Name:    "position",
	Summary: "a note, or a proof if the algorithm promises it: every part of the vector has the same tree, so a result does not depend on its position or on the length of the vector",
	scope:   &everyFold,
	prove:   provePosition,
}

func provePosition(sub *subject) (string, error) {
	v := sub.values()
	note, moved := v.notePosition(&sub.s.Header)
	if moved != nil && promised[sub.s.Name()].position {
		a, b := v.first[moved[0]], v.first[moved[1]]
		return "", fail([]int{a.Rank, b.Rank}, []Place{a.Place, b.Place}, nil, "%s", note)
	}
	return note, nil
}

// notePosition says whether all parts of the vector have one tree. moved is a pair of chunks with
// different trees, or nil.
func (v *values) notePosition(h *ir.Header) (note string, moved *[2]int) {
	all, ok := v.results(h)
	if !ok {
		return "", nil // something is missing, which other checks report
	}
	if moved = firstMoved(all); moved == nil {
		return "one tree for every part of the vector", nil
	}
	a, b := v.first[moved[0]], v.first[moved[1]]
	only := ""
	if v.sameButForOrder(a.tree(), b.tree()) {
		only = "; they differ only in the order of operands"
	}
	return fmt.Sprintf("the tree depends on the position: %v is %s, %v is %s%s",
		a.Slot, v.spell(a.tree()), b.Slot, v.spell(b.tree()), only), moved
}

// firstMoved returns two chunks of one block, or of the blocks that form a vector, that have
// different trees. It returns nil if there are none.
func firstMoved(all []results) *[2]int {
	for _, r := range all {
		for i, t := range r.trees {
			if t != r.trees[0] {
				return &[2]int{r.of * len(r.trees), r.of*len(r.trees) + i}
			}
		}
	}
	return nil
}
