package verify

import (
	"fmt"
	"slices"
	"strings"

	"github.com/schedgen/schedgen/internal/ir/fixpoint"
	"github.com/schedgen/schedgen/ir"
)

// Bounds of a counterexample in print.
const (
	maxSpelled = 4 // slots in a list
	maxHops    = 4 // steps of a chain before it is cut; the last step is printed too
	maxBeside  = 3 // slots beside a step of a chain
)

// failWithout returns the failure that all given slots of rank can be set although need is not,
// with the chain of events that leads to it.
func (sub *subject) failWithout(ranks []int, rank int, given []ir.Slot, need Place, format string, args ...any) error {
	res, slots := sub.without(need), sub.numbers(nil, rank, given)
	return fail(ranks, []Place{need}, sub.chain(res, latest(res, slots)),
		"%s: %s", fmt.Sprintf(format, args...), sub.tellGiven(res, given, slots)).in(allBut(need))
}

// latest returns the slot that is set last, or -1 if none is set.
func latest(res *fixpoint.Result, slots []int32) int32 {
	last, round := int32(-1), int32(-1)
	for _, s := range slots {
		if s >= 0 && res.Slots()[s] > round {
			last, round = s, res.Slots()[s]
		}
	}
	return last
}

// upon returns the slots for which a rule waits. In place of a signal that the rule's rank puts to
// itself, it returns those for which that put waits.
func (sub *subject) upon(res *fixpoint.Result, rule int) []int32 {
	rank, seen := sub.RankOf(rule), make(map[int32]bool)
	var all []int32
	for todo := slices.Clone(sub.When(rule)); len(todo) > 0; {
		slot := todo[0]
		todo = todo[1:]
		if seen[slot] {
			continue
		}
		seen[slot] = true
		if cause := res.Cause(int(slot)); cause >= 0 && sub.RankOf(cause) == rank && sub.isSignal(int32(rank), slot) {
			todo = append(todo, sub.When(cause)...)
		} else {
			all = append(all, slot)
		}
	}
	return all
}

// chain returns why a slot is set: the rank that sets it, the slot for which that rank waits
// longest, and so on back to a slot that is set from the beginning.
func (sub *subject) chain(res *fixpoint.Result, slot int32) []Step {
	var steps []Step
	for slot >= 0 && res.Slots()[slot] >= 0 && res.Cause(int(slot)) >= 0 {
		cause := res.Cause(int(slot))
		steps = append(steps, Step{sub.layout.PlaceOf(int(slot)), sub.RankOf(cause)})
		slot = latest(res, sub.upon(res, cause))
	}
	return steps
}

// tellGiven says in words why the given slots of a rank are set.
func (sub *subject) tellGiven(res *fixpoint.Result, given []ir.Slot, slots []int32) string {
	var parts []string
	n := -maxSpelled // slots that are not spelled
	for _, s := range slots {
		if s < 0 || res.Slots()[s] < 0 || res.Cause(int(s)) < 0 {
			continue
		}
		if n++; n <= 0 {
			parts = append(parts, sub.tellChain(res, sub.chain(res, s)))
		}
	}
	switch {
	case len(parts) == 0 && len(given) > 0:
		return "it waits only for " + spell(given)
	case len(parts) == 0:
		return "it waits for nothing"
	case n > 0:
		parts = append(parts, fmt.Sprintf("%d more", n))
	}
	return "it waits only for " + strings.Join(parts, ", ")
}

// tellChain returns text such as "s2 from rank 4 after s1 from rank 2 after s0 from rank 1". A step
// after which a rank acts is followed in brackets by the other slots for which the rank waits:
// "s2 from rank 4 after s1 from rank 2 (and s3 from rank 3)". Their own reasons are left out.
func (sub *subject) tellChain(res *fixpoint.Result, steps []Step) string {
	var parts []string
	for i, st := range steps {
		switch shown := i < maxHops || i == len(steps)-1; {
		case shown && i > 0:
			parts = append(parts, tellStep(st)+sub.tellBeside(res, steps[i-1], st.Place))
		case shown:
			parts = append(parts, tellStep(st))
		case i == maxHops:
			parts = append(parts, fmt.Sprintf("%d more", len(steps)-1-maxHops))
		}
	}
	return strings.Join(parts, " after ")
}

func tellStep(st Step) string {
	if st.From == st.Rank {
		return fmt.Sprintf("%v, folded", st.Slot)
	}
	return fmt.Sprintf("%v from rank %d", st.Slot, st.From)
}

// tellBeside names the slots, beside last, for which the rule waits that sets the slot of st. It
// leaves out slots that are set from the beginning.
func (sub *subject) tellBeside(res *fixpoint.Result, st Step, last Place) string {
	var beside []string
	for _, w := range sub.upon(res, res.Cause(sub.layout.Slot(st.Rank, st.Slot))) {
		p, cause := sub.layout.PlaceOf(int(w)), res.Cause(int(w))
		if p == last || cause < 0 {
			continue
		}
		if len(beside) == maxBeside {
			beside = append(beside, "others")
			break
		}
		beside = append(beside, tellStep(Step{p, sub.RankOf(cause)}))
	}
	if len(beside) == 0 {
		return ""
	}
	return " (and " + strings.Join(beside, ", ") + ")"
}

// spell lists slots: "s0, s1 and 3 more".
func spell(slots []ir.Slot) string {
	var b strings.Builder
	for i, s := range slots {
		if i == maxSpelled {
			fmt.Fprintf(&b, " and %d more", len(slots)-i)
			break
		}
		if i > 0 {
			b.WriteString(", ")
		}
		b.WriteString(s.String())
	}
	return b.String()
}
