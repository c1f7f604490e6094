package verify

import (
	"fmt"

	"github.com/schedgen/schedgen/ir"
)

// contributes examines every chunk that a fold makes. Copies need no check, because the name of a
// chunk stands for one value.
var contributes = Check{
	Name:    "contributes",
	Summary: "each result is folded from exactly the contributions that its collective names, each once",
	scope:   &everyFold,
	prove:   proveContributes,
}

func proveContributes(sub *subject) (string, error) {
	return "", sub.values().contributed(&sub.s.Header)
}

// contributed returns the failure of the check contributes, or nil.
func (v *values) contributed(h *ir.Header) error {
	type question struct {
		tree
		ranks int
	}
	right := make(map[question]bool) // trees that are found to be of these ranks
	for _, m := range v.made {
		want, ranks := partOf(h, m.Slot), h.FoldedRanks(m.Slot.Index())
		if m.part == want && (m.node == givenNode || right[question{m.tree(), ranks}]) {
			continue
		}
		if ranks == 0 {
			return fail([]int{m.Rank}, []Place{m.Place}, nil,
				"no contributions go into %v, but rank %d folds it: %s", m.Slot, m.Rank, v.spell(m.tree()))
		}
		odd, rank := v.odd(m.tree(), int32(ranks))
		text := ""
		switch {
		case odd == countedTwice:
			text = fmt.Sprintf("rank %d counts twice in %v", rank, m.Place)
		case odd == missing:
			text = fmt.Sprintf("rank %d is missing in %v", rank, m.Place)
		case odd == notAskedFor:
			text = fmt.Sprintf("rank %d counts in %v, which is for ranks up to %d", rank, m.Place, ranks-1)
		case odd == notContributed:
			text, rank = fmt.Sprintf("a chunk that is no contribution counts in %v", m.Place), m.Rank
		case m.part == mixedParts:
			text, rank = fmt.Sprintf("%v mixes parts of the vector", m.Place), m.Rank
		case m.part != want:
			text, rank = fmt.Sprintf("%v is folded from %s, not from %s", m.Place, partName(m.part), partName(want)), m.Rank
		default:
			right[question{m.tree(), ranks}] = true
			continue
		}
		return fail([]int{m.Rank, rank}, []Place{m.Place}, nil, "%s: %s", text, v.spell(m.tree()))
	}
	return nil
}
