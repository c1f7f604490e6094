package emit

import (
	"fmt"
	"iter"
	"slices"
	"strconv"
	"strings"

	"github.com/schedgen/schedgen/ir"
)

// slotList spells slots briefly: c0, c0-3, c0,2,5. Each kind is separate: v0,1 x2. A kind with more
// than three runs of numbers is only counted: "9 chunks". slots must be sorted.
func slotList(slots []ir.Slot) string {
	if len(slots) == 0 {
		return ""
	}
	for i, s := range slots {
		if s.Kind() != slots[0].Kind() {
			return slotList(slots[:i]) + " " + slotList(slots[i:])
		}
	}
	letter := slots[0].String()[:1]
	indices := make([]int, len(slots))
	for i, s := range slots {
		indices[i] = s.Index()
	}
	runs := intRuns(indices, "-")
	if len(runs) > 3 {
		return fmt.Sprintf("%d %s", len(slots), kindPlural(slots[0]))
	}
	return letter + strings.Join(runs, ",")
}

func kindPlural(s ir.Slot) string {
	switch s.Kind() {
	case ir.KindSignal:
		return "signals"
	case ir.KindValue:
		return "partial results"
	case ir.KindInput:
		return "contributions"
	}
	return "chunks"
}

// intRuns returns sorted numbers as runs joined by the word to. Repeated numbers count once.
func intRuns(sorted []int, to string) []string {
	var out []string
	for i := 0; i < len(sorted); {
		j := i
		for j+1 < len(sorted) && sorted[j+1]-sorted[j] <= 1 {
			j++
		}
		lo, hi := strconv.Itoa(sorted[i]), strconv.Itoa(sorted[j])
		switch sorted[j] - sorted[i] {
		case 0:
			out = append(out, lo)
		case 1:
			out = append(out, lo, hi)
		default:
			out = append(out, lo+to+hi)
		}
		i = j + 1
	}
	return out
}

// messages yields the messages and folds of actions, in order.
func messages(do []ir.Action) iter.Seq[[]ir.Action] {
	return func(yield func([]ir.Action) bool) {
		for len(do) > 0 {
			message := ir.MessageOf(do)
			if !yield(message) {
				return
			}
			do = do[len(message):]
		}
	}
}

// cargo is the messages that one rank sends another in a round.
type cargo [][]ir.Action

// slots returns the slots of all messages.
func (c cargo) slots() []ir.Slot {
	var all []ir.Slot
	for _, message := range c {
		for _, a := range message {
			all = append(all, a.Slot)
		}
	}
	return all
}

// equal reports whether both have the same slots in the same messages.
func (c cargo) equal(other cargo) bool {
	return slices.EqualFunc(c, other, func(a, b []ir.Action) bool {
		return slices.EqualFunc(a, b, func(x, y ir.Action) bool { return x.Slot == y.Slot })
	})
}

// bundled reports whether a message has several slots.
func (c cargo) bundled() bool {
	return slices.ContainsFunc(c, func(message []ir.Action) bool { return len(message) > 1 })
}

// label spells the cargo briefly. Messages of one slot are a list: c0,1. The slots of a message
// with several are side by side: c0 c1.
func (c cargo) label() string {
	if !c.bundled() {
		return slotList(set(c.slots()))
	}
	if len(c) > 2 {
		return fmt.Sprintf("%d messages", len(c))
	}
	var parts []string
	for _, message := range c {
		parts = append(parts, bundleLabel(message))
	}
	return strings.Join(parts, ", ")
}

// bundleLabel spells the slots of one message: c0 c1 c2. If there are more than three, it names the
// first and the last: c0…c7. If these are not consecutive, it adds their number: c3…c0 (8).
func bundleLabel(message []ir.Action) string {
	n := len(message)
	if n <= 3 {
		var names []string
		for _, a := range message {
			names = append(names, a.Slot.String())
		}
		return strings.Join(names, " ")
	}
	label := fmt.Sprintf("%v…%v", message[0].Slot, message[n-1].Slot)
	for i, a := range message {
		if a.Slot != message[0].Slot+ir.Slot(i) {
			return fmt.Sprintf("%s (%d)", label, n)
		}
	}
	return label
}
