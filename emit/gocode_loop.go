package emit

import (
	"encoding/binary"
	"slices"

	"github.com/schedgen/schedgen/ir"
)

// node is a piece of a role's program. Consecutive pieces that differ by steps become a loop.
type node struct {
	kind    nodeKind
	times   int       // number of turns of a loop
	values  []int     // the values of a loop's list
	slot    ir.Kind   // kind of a slot
	but     bool      // of a put: it has all slots of its list except the destination's
	numbers []operand // of a rule: the numbers of a repair; of a put: its rank
	lists   []nodes   // of a loop: its body
}

// nodes is a list of pieces.
type nodes struct {
	list []node
	sort bool // its slots ascend in the program but not here
}

type nodeKind uint8

const (
	loopNode nodeKind = iota
	ruleNode          // lists: when, do, unless
	putNode           // lists: the slots of the message
	mcastNode
	foldNode  // lists: the result, the operands
	putAsNode // lists: the slots of the message, their names at the destination
	slotNode
	rankNode
	programNode // lists: rules, wanted, done, ask, reportTo, reportFrom, twice
)

// program returns the role's program, which o has taken apart.
func (ro *role) program(o *outline) node {
	r := shapeReader{ro.shape, ro.numbers, ro.moved, o.owners, o.inputs}
	p := node{kind: programNode, numbers: r.take(2)}
	var rules nodes
	for range r.count() {
		rule := node{kind: ruleNode}
		var unless nodes
		if kind := ir.Kind(r.count()); kind != ir.KindNone {
			unless.list = []node{r.slot(kind)}
			rule.numbers = r.take(1)
		}
		when := r.slots()
		rule.lists = []nodes{when, r.actions(), unless}
		rules.list = append(rules.list, rule)
	}
	rules.list = rolled(rules.list, minRules)
	wanted, done := r.slots(), r.slots()
	if !wanted.sort {
		wanted, done = nodes{}, nodes{list: rolled(append(wanted.list, done.list...), minSlots)}
	}
	ask, to, from := r.peers(), r.peers(), r.peers()
	p.lists = []nodes{rules, wanted, done, ask, to, from, r.actions()}
	return p
}

// shapeReader makes pieces from what an outline has taken apart.
type shapeReader struct {
	shape   []byte
	numbers []operand
	moved   []bool
	owners  int
	inputs  bool // there are as many contributions as chunks
}

func (r *shapeReader) count() int {
	n, size := binary.Uvarint(r.shape)
	r.shape = r.shape[size:]
	return int(n)
}

func (r *shapeReader) take(n int) []operand {
	list := slices.Clone(r.numbers[:n])
	r.numbers = r.numbers[n:]
	return list
}

func (r *shapeReader) slot(kind ir.Kind) node {
	n := 0
	switch {
	case kind == ir.KindChunk, kind == ir.KindInput && r.inputs:
		n = r.owners + 1
	case kind != ir.KindEnter && kind != ir.KindNone:
		n = 1
	}
	return node{kind: slotNode, slot: kind, numbers: r.take(n)}
}

func (r *shapeReader) slots() nodes {
	var list []node
	for range r.count() {
		list = append(list, r.slot(ir.Kind(r.count())))
	}
	moved := r.moved[0]
	r.moved = r.moved[1:]
	return nodes{rolled(list, minSlots), moved}
}

func (r *shapeReader) peers() nodes {
	var list []node
	for range r.count() {
		list = append(list, node{kind: rankNode, numbers: r.take(1)})
	}
	return nodes{list: rolled(list, minSlots)}
}

func (r *shapeReader) actions() nodes {
	var list []node
	for range r.count() {
		action := node{kind: mcastNode}
		switch ir.Op(r.count()) {
		case ir.Put:
			action.kind, action.but, action.numbers = putNode, r.count() == 1, r.take(1)
		case ir.Fold:
			action.kind, action.lists = foldNode, []nodes{r.slots()}
		case putAs:
			action.kind, action.numbers = putAsNode, r.take(1)
			action.lists = []nodes{r.slots()}
		}
		action.lists = append(action.lists, r.slots())
		list = append(list, action)
	}
	return nodes{list: rolled(list, minActions)}
}

// The minimum numbers of turns of a loop. Fewer turns are shorter without a loop.
const (
	minRules   = 3
	minActions = 4
	minSlots   = 5
)

// maxBody is the maximum number of consecutive pieces in a loop's body.
const maxBody = 8

// rolled returns the list with loops in place of pieces that repeat at least least times. It first
// makes loops of one piece, so that it also finds pieces that repeat and contain loops.
func rolled(list []node, least int) []node {
	for {
		before := len(list)
		for n := -1; n != len(list); {
			n = len(list)
			list = roll(list, 1, least, false)
		}
		list = roll(list, maxBody, least, false)
		if len(list) == before && least < minSlots {
			list = roll(list, maxBody, least, true)
		}
		if len(list) == before {
			return list
		}
	}
}

// roll makes loops of pieces that repeat in list, with bodies of at most most pieces. Numbers grow
// by steps. If listed is true, they may also take the values of a list.
func roll(list []node, most, least int, listed bool) []node {
	var out []node
	for len(list) > 0 {
		body, times := 1, 1
		var best [][]step
		for n := 1; n <= min(most, len(list)); n++ {
			enough := least
			if slices.ContainsFunc(list[:n], func(p node) bool { return p.kind == loopNode }) {
				enough = 2 // two loops are longer than a nested one
			}
			if by := turns(list, n, listed); len(by)+1 >= enough && (len(by)+1)*n > times*body {
				body, times, best = n, len(by)+1, by
			}
		}
		piece := list[0]
		if times > 1 {
			piece = loopOf(list[:body], best)
		}
		out = append(out, piece)
		list = list[body*times:]
	}
	return out
}

// loopOf returns a loop with the given body, whose numbers grow by by in each turn.
func loopOf(body []node, by [][]step) node {
	loop := node{kind: loopNode, times: len(by) + 1, lists: []nodes{{list: slices.Clone(body)}}}
	g := grower{by: slices.Clone(by[0])}
	odd := oddStep(by)
	if odd >= 0 {
		loop.values = []int{0}
		for t, steps := range by {
			loop.values = append(loop.values, loop.values[t]+steps[odd].at)
		}
	}
	for i := range g.by {
		g.by[i].listed = slices.ContainsFunc(by, func(steps []step) bool { return steps[i] != by[0][i] })
	}
	for i := range loop.lists[0].list {
		g.grow(&loop.lists[0].list[i])
	}
	for i := range loop.values {
		loop.values[i] += *g.base
	}
	return loop
}

// turns returns how much the numbers of the first n pieces of list grow each time that the pieces
// repeat.
func turns(list []node, n int, listed bool) (by [][]step) {
	for at := n; at+n <= len(list); at += n {
		var steps []step
		for i := range n {
			if a, b := &list[at-n+i], &list[at+i]; !a.differs(b, &steps) {
				return by
			}
		}
		by = append(by, steps)
		if !listed && !slices.Equal(steps, by[0]) || listed && !oneList(by) {
			return by[:len(by)-1]
		}
	}
	return by
}

// oddStep returns the first number that does not grow by the same step each time, or -1 if there is
// none.
func oddStep(by [][]step) int {
	for i := range by[0] {
		for _, steps := range by {
			if steps[i] != by[0][i] {
				return i
			}
		}
	}
	return -1
}

// oneList reports whether all numbers with varying steps have the same steps as each other, and do
// not change columns.
func oneList(by [][]step) bool {
	odd := oddStep(by)
	for i := range by[0] {
		same, asOdd := true, true
		for _, steps := range by {
			same = same && steps[i] == by[0][i]
			asOdd = asOdd && odd >= 0 && steps[i].at == steps[odd].at && steps[i].column == 0
		}
		if !same && !asOdd {
			return false
		}
	}
	return true
}

// differs appends the differences of the numbers of b from the numbers of a. ok is false if
// anything except numbers differs.
func (a *node) differs(b *node, steps *[]step) (ok bool) {
	if a.kind != b.kind || a.times != b.times || !slices.Equal(a.values, b.values) || a.slot != b.slot || a.but != b.but || len(a.numbers) != len(b.numbers) {
		return false
	}
	for i := range a.numbers {
		x, y := &a.numbers[i], &b.numbers[i]
		if x.form != y.form || x.mod != y.mod || !slices.Equal(x.list, y.list) || !slices.Equal(x.by, y.by) {
			return false
		}
		at := y.at - x.at
		if x.mod > 0 && 2*at > x.mod {
			at -= x.mod
		} else if x.mod > 0 && 2*at <= -x.mod {
			at += x.mod
		}
		*steps = append(*steps, step{column: y.column - x.column, at: at})
	}
	for i := range a.lists {
		x, y := &a.lists[i], &b.lists[i]
		if x.sort != y.sort || len(x.list) != len(y.list) {
			return false
		}
		for k := range x.list {
			if !x.list[k].differs(&y.list[k], steps) {
				return false
			}
		}
	}
	return true
}

// grower sets how much the numbers of a loop's body grow.
type grower struct {
	by   []step // in the order of differs
	base *int   // the initial value of the first number that uses the list
}

func (g *grower) grow(a *node) {
	for i := range a.numbers {
		n, s := &a.numbers[i], g.by[0]
		g.by = g.by[1:]
		if s.listed {
			if s.at = 0; g.base == nil {
				base := n.at
				g.base = &base
			}
			n.at -= *g.base
		}
		n.by = append(slices.Clone(n.by), s)
	}
	a.lists = slices.Clone(a.lists)
	for i := range a.lists {
		for k := range a.lists[i].list {
			g.grow(&a.lists[i].list[k])
		}
	}
}
