package emit

import (
	"slices"

	"github.com/schedgen/schedgen/ir"
)

// goCode is the program of one rank as generated code has it: families of
// rules that differ in numbers only, and what each slot triggers. Ranks whose
// goCode differs in numbers only are one role, whose goCode has formulas.
type goCode struct {
	holds    bool // enter sets all chunks: the rank is the root
	keeps    bool // an answer to a request holds a chunk
	signals  goNumber
	must     goNumber // rules that must fire
	done     []slotSpan
	families []*family
	enter    effect
	chunk    []slotClass
	signal   []slotClass
	recovery recovery
	places   places
}

// apart are the runs that belong to no rule.
func (c *goCode) apart() []*repeat {
	r, p := &c.recovery, &c.places
	return slices.DeleteFunc([]*repeat{r.ask, r.report, r.from, r.twice, p.awaits, p.posted, p.posts}, func(run *repeat) bool { return run == nil })
}

// recovery is what a rank does about multicasts that have not reached it: the
// ranks it asks, that it reports to and that report to it, as if it put to
// them, and the puts that it makes twice.
type recovery struct{ ask, report, from, twice *repeat }

// places are where the signals of a rank may stand as flags, as if it put them: those that it
// awaits to who puts them, those of them that are posted to no matter whom, and those that it
// posts. A code of places has nothing else.
type places struct{ awaits, posted, posts *repeat }

// listedRanks and listedSlots tell what the numbers of actions are.
func (c *goCode) listedRanks() string {
	if c.places.awaits != nil {
		return "the ranks that put to it, or to which it posts"
	}
	return "the ranks that it puts to"
}

func (c *goCode) listedSlots() string {
	if c.places.awaits != nil {
		return "the signals that are put"
	}
	return "the slots that it sends"
}

// goNumber is a number of the code: what it is at a rank, and in a role how it
// comes from the rank.
type goNumber struct {
	values []int // at one rank: one, or one for each pass of the loops around it
	free   bool  // any would do: nothing goes by it at this rank
	expr   *expr
}

func one(n int) goNumber { return goNumber{values: []int{n}} }

// at returns the value of a number that stands in no loop.
func (n *goNumber) at() int { return n.values[0] }

// slotSpan is slots of one kind, one after the other.
type slotSpan struct {
	kind     ir.Kind
	first, n goNumber
}

// family is rules k = 0 … times-1, one after the other, or groups of rules
// that wait for the same. All of a family do the same but for numbers.
type family struct {
	repair  bool
	times   goNumber
	when    []slotSpan
	step    []goNumber // what each k adds to the slots of each span
	must    goNumber   // rules of each k that must fire
	at      goNumber   // the actions of rule k are Do[at+k·size : at+(k+1)·size]
	size    goNumber
	arm     goNumber // the repairs of k are numbered arm+k·arms … arm+(k+1)·arms-1
	arms    goNumber
	counter goNumber // of k: counter+k, if the rules count
	runs    []*repeat
}

// repeat is rules j = 0 … times-1 of each k: a repair each, or all actions of
// rules that are none.
type repeat struct {
	times    goNumber
	segments []*segment
	again    *again

	fitted []*segment // of a role: with their formulas
}

// again makes actions a repair.
type again struct {
	kind   ir.Kind // of unless
	unless goNumber
	after  goNumber
	n      goNumber // actions
}

// segment is actions of one kind: a loop, or one in another.
type segment struct {
	op           ir.Op
	kind         ir.Kind
	outer, inner goNumber
	nested       bool // outer is not 1
	slot, to     goNumber

	// Of a role: where puts go, counted as the frame does.
	frame *frame
	at    *expr
}
