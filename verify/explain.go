package verify

import (
	"fmt"
	"strings"

	"github.com/schedgen/schedgen/ir"
)

// whyNever returns why p is never set in the worst world, as [fixpoint.Result.WhyNever] does.
func (sub *subject) whyNever(p Place) (steps []Step, cycle bool) {
	slot := sub.layout.Slot(p.Rank, p.Slot)
	if slot < 0 {
		return []Step{{p, -1}}, false // no program mentions it
	}
	path, cycle := sub.worst.WhyNever(slot)
	for i, slot := range path {
		if steps = append(steps, Step{sub.layout.PlaceOf(slot), -1}); i > 0 {
			steps[i-1].From = steps[i].Rank
		}
	}
	return steps, cycle
}

// tellStuck says in words what [subject.whyNever] has found.
func (sub *subject) tellStuck(steps []Step, cycle bool) string {
	var parts []string
	for i, st := range steps {
		switch {
		case i < maxHops || i == len(steps)-1:
			parts = append(parts, st.Place.String())
		case i == maxHops:
			parts = append(parts, fmt.Sprintf("%d more", len(steps)-1-maxHops))
		}
	}
	end := steps[len(steps)-1].Place
	puts := "puts"
	if kind := end.Slot.Kind(); sub.folds && (kind == ir.KindChunk || kind == ir.KindValue) {
		puts = "puts or folds"
	}
	switch text := strings.Join(parts, " waits for "); {
	case cycle:
		return text + ", a cycle"
	case sub.calm.Slot(end.Rank, end.Slot) < 0 && len(steps) == 1:
		return "nobody " + puts + " it"
	case sub.calm.Slot(end.Rank, end.Slot) < 0:
		return text + ", which nobody " + puts
	case len(steps) == 1:
		return "no put brings it"
	default:
		return text + ", which no put brings"
	}
}

// ranksOf returns the ranks of a path, each once, in order.
func ranksOf(steps []Step) []int {
	var ranks []int
	seen := make(map[int]bool)
	for _, st := range steps {
		if !seen[st.Rank] {
			seen[st.Rank] = true
			ranks = append(ranks, st.Rank)
		}
	}
	return ranks
}
