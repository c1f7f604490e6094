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

// intRuns returns numbers in their order, with runs that ascend or descend by one joined by the word
// to. A number that follows itself counts once.
func intRuns(numbers []int, to string) []string {
	var out []string
	for i := 0; i < len(numbers); {
		j, step := i, 0
		for ; j+1 < len(numbers); j++ {
			by := numbers[j+1] - numbers[j]
			if step == 0 && (by == 1 || by == -1) {
				step = by
			}
			if by != 0 && by != step {
				break
			}
		}
		first, last := strconv.Itoa(numbers[i]), strconv.Itoa(numbers[j])
		switch numbers[j] - numbers[i] {
		case 0:
			out = append(out, first)
		case 1, -1:
			out = append(out, first, last)
		default:
			out = append(out, first+to+last)
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

// sets returns what the receiver calls the slots of all messages.
func (c cargo) sets() []ir.Slot {
	var all []ir.Slot
	for _, message := range c {
		for _, a := range message {
			all = append(all, a.Sets())
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

// renamedLabel is like label, and also says what the receiver calls slots that it calls by another
// name: x0→v2.
func (c cargo) renamedLabel() string {
	switch {
	case !slices.ContainsFunc(c, renames), c.bundled() && len(c) > 2:
		return c.label()
	case !c.bundled() && len(c) > 3:
		return slotList(set(c.slots())) + "→" + slotList(set(c.sets()))
	}
	var parts []string
	for _, message := range c {
		parts = append(parts, renamedBundle(message))
	}
	return strings.Join(parts, ", ")
}

// renames reports whether the receiver of a message calls some slot by another name.
func renames(message []ir.Action) bool {
	return slices.ContainsFunc(message, func(a ir.Action) bool { return a.Sets() != a.Slot })
}

// renamedBundle spells the slots of one message: x0→v2 x1→v3. If there are more than three, the
// receiver's names follow the sender's: x0…x7→v0…v7.
func renamedBundle(message []ir.Action) string {
	if !renames(message) {
		return bundleLabel(message)
	}
	if len(message) > 3 {
		there := slices.Clone(message)
		for i := range there {
			there[i].Slot = there[i].Sets()
		}
		return bundleLabel(message) + "→" + bundleLabel(there)
	}
	var names []string
	for _, a := range message {
		name := a.Slot.String()
		if a.Sets() != a.Slot {
			name += "→" + a.Sets().String()
		}
		names = append(names, name)
	}
	return strings.Join(names, " ")
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
