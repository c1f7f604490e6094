package verify

import (
	"fmt"
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
	res := sub.without(need)
	return fail(ranks, []Place{need}, sub.chain(res, rank, sub.latest(res, rank, given)),
		"%s: %s", fmt.Sprintf(format, args...), sub.tellGiven(res, rank, given)).in(allBut(need))
}

// latest returns the slot of rank that is set last, or ir.None if slots is empty.
func (sub *subject) latest(res *fixpoint.Result, rank int, slots []ir.Slot) ir.Slot {
	last, round := ir.None, -1
	for _, s := range slots {
		if at := res.Slot(rank, s); at > round {
			last, round = s, at
		}
	}
	return last
}

// chain returns why slot s of rank is set: the rank that sets it, the slot for which that rank
// waits longest, and so on back to a slot that is set from the beginning.
func (sub *subject) chain(res *fixpoint.Result, rank int, s ir.Slot) []Step {
	var steps []Step
	for {
		id := sub.layout.Slot(rank, s)
		if id < 0 || res.Slots()[id] < 0 || res.Cause(id) < 0 {
			return steps
		}
		from, i := sub.layout.RuleOf(res.Cause(id))
		steps = append(steps, Step{place(rank, s), from})
		rank, s = from, sub.latest(res, from, sub.s.Programs[from].Rules[i].When)
	}
}

// tellGiven says in words why the given slots of rank are set.
func (sub *subject) tellGiven(res *fixpoint.Result, rank int, given []ir.Slot) string {
	var parts []string
	for _, s := range given {
		if steps := sub.chain(res, rank, s); len(steps) > 0 {
			parts = append(parts, sub.tellChain(res, steps))
		}
	}
	switch n := len(parts) - maxSpelled; {
	case len(parts) == 0 && len(given) > 0:
		return "it waits only for " + spell(given)
	case len(parts) == 0:
		return "it waits for nothing"
	case n > 0:
		parts = append(parts[:maxSpelled], fmt.Sprintf("%d more", n))
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
			parts = append(parts, tellStep(st)+sub.tellBeside(res, steps[i-1], st.Slot))
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
func (sub *subject) tellBeside(res *fixpoint.Result, st Step, last ir.Slot) string {
	rank, i := sub.layout.RuleOf(res.Cause(sub.layout.Slot(st.Rank, st.Slot)))
	var beside []string
	for _, w := range sub.s.Programs[rank].Rules[i].When {
		cause := res.Cause(sub.layout.Slot(rank, w))
		if w == last || cause < 0 {
			continue
		}
		if len(beside) == maxBeside {
			beside = append(beside, "others")
			break
		}
		from, _ := sub.layout.RuleOf(cause)
		beside = append(beside, tellStep(Step{place(rank, w), from}))
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
