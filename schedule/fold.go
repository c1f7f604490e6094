package schedule

import (
	"math/bits"
	"slices"
	"sync"

	"github.com/schedgen/schedgen/ir"
)

// Collectives that fold. Algorithms fold contributions in the order of the ranks where they can, so
// that their schedules serve operations that do not commute. So nothing is rotated by the root. The
// master of a host is its first rank. It folds the contributions of its host before it takes part.
//
// A rank numbers its partial results by their purpose. First come the contributions of its slaves,
// then the results of the folds of its host, then the partial results of the algorithm. The i-th of
// them is v<i·F>, v<i·F+1> … for the chunks 0, 1 … of a vector of F chunks. A rank that puts a
// partial result to another must know i, which depends only on the other rank's place. Algorithms
// that cut the vector into pieces are in pieces.go.
//
// If the number of hosts is not a power of two, p2 is the largest power below it, and rem = hosts -
// p2. Among the first 2·rem hosts, each odd host puts its contribution to the even host before it,
// which takes part for both. So neighbouring contributions are folded. See R. Thakur, R.
// Rabenseifner and W. Gropp (2005, §4.5). The hosts that take part are numbered. The tree of
// doubling folds the numbers 0 and 1, 2 and 3 …, then 0 … 1 and 2 … 3, and so on. Algorithms that
// fold this tree give the same bits.
//
// A reduce does the same, but in the root's pair the root's host takes part, so the result is at
// the root.

// desk is the working memory in which programs that fold are written. Each program is first written
// into scratch to find its size.
type desk struct {
	node      node
	arena     arena
	now, late []ir.Slot
	to        []int
}

var desks = sync.Pool{New: func() any { return new(desk) }}

// scratch is memory in which programs are written to find their size.
var scratch = sync.Pool{New: func() any { return new(memory) }}

// write returns the program of a node. It writes into arena a, which has the program's size.
func write(n node, a arena, write func(*node, *arena) ir.Program) ir.Program {
	d := desks.Get().(*desk)
	d.node, d.arena = n, a
	d.arena.now, d.arena.late, d.arena.to = d.now[:0], d.late[:0], d.to[:0]
	p := write(&d.node, &d.arena)
	d.now, d.late, d.to = d.arena.now, d.arena.late, d.arena.to
	d.arena = arena{}
	desks.Put(d)
	return p
}

// writeIn returns the program of a node. It enlarges memory m as needed.
func writeIn(m *memory, n node, write func(*node, *arena) ir.Program) ir.Program {
	d := desks.Get().(*desk)
	d.node, d.arena = n, arena{
		rules: m.rules[:0], slots: m.slots[:0], acts: m.acts[:0], peers: m.peers[:0],
		now: d.now[:0], late: d.late[:0], to: d.to[:0],
	}
	p := write(&d.node, &d.arena)
	if len(p.Rules) == 0 {
		p.Rules = nil
	}
	a := &d.arena
	*m = memory{a.rules, a.slots, a.acts, a.peers}
	d.now, d.late, d.to = a.now, a.late, a.to
	d.arena = arena{}
	desks.Put(d)
	return p
}

// written returns the size of the program that write writes. If that has more rules or actions than
// most, it returns the size of a part that has more, too.
func written(n node, write func(*node, *arena) ir.Program, most int64) size {
	m := scratch.Get().(*memory)
	d := desks.Get().(*desk)
	d.node, d.arena = n, arena{
		counts: true, most: most,
		rules: m.rules[:0], slots: m.slots[:0], acts: m.acts[:0], peers: m.peers[:0],
		now: d.now[:0], late: d.late[:0], to: d.to[:0],
	}
	a := &d.arena
	func() {
		defer func() {
			if p := recover(); p != nil && p != any(tooLong{}) {
				panic(p)
			}
		}()
		write(&d.node, a)
	}()
	z := size{a.dropped.rules + len(a.rules), len(a.slots), a.dropped.acts + len(a.acts), len(a.peers)}
	*m = memory{a.rules, a.slots, a.acts, a.peers}
	d.now, d.late, d.to = a.now, a.late, a.to
	d.arena = arena{}
	desks.Put(d)
	scratch.Put(m)
	return z
}

// powerBelow returns the largest power of two that is at most n, and n minus that power.
func powerBelow(n int) (p2, rem int) {
	p2 = 1 << (bits.Len(uint(n)) - 1)
	return p2, n - p2
}

// number returns the number of virtual rank v among the p2 hosts that take part. It returns -1 if
// the other host of v's pair takes part for v.
func (l *layout) number(v int) int {
	switch _, rem := powerBelow(l.hosts); {
	case v >= 2*rem:
		return v - rem
	case l.speaks(v):
		return v / 2
	}
	return -1
}

// speaks reports whether v takes part for both hosts of its pair.
func (l *layout) speaks(v int) bool {
	if v|1 == l.alternate {
		return v == l.alternate
	}
	return v%2 == 0
}

// numbered is the inverse of number.
func (l *layout) numbered(number int) int {
	switch _, rem := powerBelow(l.hosts); {
	case number >= rem:
		return number + rem
	case 2*number+1 == l.alternate:
		return l.alternate
	}
	return 2 * number
}

// stands reports whether v takes part for the other host of its pair, v⊕1, as well.
func (l *layout) stands(v int) bool {
	_, rem := powerBelow(l.hosts)
	return v < 2*rem && l.speaks(v)
}

// partial returns the slot of partial result i of a rank for chunk k of the vector.
func (n *node) partial(i, k int) ir.Slot { return ir.Value(i*n.vector + k) }

// own stands for the rank's own contribution in place of a partial result.
const own = -1

// result stands for the result in place of a partial result.
const result = -2

// slot returns the slot of partial result i for chunk k. i may be own or result.
func (n *node) slot(i, k int) ir.Slot {
	switch i {
	case own:
		return ir.Input(k)
	case result:
		return ir.Chunk(k)
	}
	return n.partial(i, k)
}

// ofHost returns the number of partial results that virtual rank v has before it exchanges any with
// other hosts: the contributions of its slaves, and the results of its host's folds.
func (l *layout) ofHost(v int) int {
	k := l.slavesOf(v)
	return k + foldsOf(k+1)
}

// ofPair returns the number of partial results that virtual rank v has before it exchanges any with
// other hosts that take part: the partial results of its host, the contribution of the host for
// which it takes part, and the fold of the two.
func (l *layout) ofPair(v int) int { return l.ofHost(v) + 2*count(l.stands(v)) }

// begin begins a rule. uses writes the slots for which the rule waits, and end ends the rule.
func (a *arena) begin() (from int) { return len(a.slots) }

// uses writes that the rule begun at from uses slot s. If s is a contribution, the rule waits for
// enter, once. Otherwise it waits for s, which the caller names only once.
func (a *arena) uses(from int, s ir.Slot) {
	if s.Kind() == ir.KindInput {
		if len(a.slots) > from && a.slots[from] == ir.Enter {
			return
		}
		a.wait(ir.Enter) // it goes first: no slot is lower
		a.slots[from], a.slots[len(a.slots)-1] = ir.Enter, a.slots[from]
		return
	}
	a.wait(s)
}

// end ends the rule that was begun at from. It leaves out a rule that does nothing.
func (a *arena) end(from int) {
	if len(a.acts) == a.open {
		a.slots = a.slots[:from]
		return
	}
	when := a.span(from, len(a.slots))
	if !a.counts {
		slices.Sort(when)
	}
	a.rule(when)
}

// fold adds one fold to the current rule.
func (a *arena) fold(made ir.Slot, operands ...ir.Slot) {
	for i, x := range operands {
		a.acts = append(a.acts, ir.Action{Op: ir.Fold, Joins: i > 0, Slot: x, As: made})
	}
}

// foldTwo writes a rule that folds two slots.
func (a *arena) foldTwo(made, left, right ir.Slot) {
	from := a.begin()
	a.uses(from, left)
	a.uses(from, right)
	a.fold(made, left, right)
	a.end(from)
}

// foldOne writes a rule that copies a slot.
func (a *arena) foldOne(made, of ir.Slot) {
	from := a.begin()
	a.uses(from, of)
	a.fold(made, of)
	a.end(from)
}

// putAs writes a rule that puts a slot to a rank, where it becomes partial result v.
func (a *arena) putAs(s ir.Slot, to int, v ir.Slot) {
	from := a.begin()
	a.uses(from, s)
	a.acts = append(a.acts, ir.PutAs(s, to, v))
	a.end(from)
}

// putPartial writes a rule that puts partial result i, for all parts of the layer in one message,
// to rank to. There it becomes partial result as.
func (a *arena) putPartial(n *node, c *layer, i, to, as int) {
	from, first := a.begin(), len(a.acts)
	for g := range c.units {
		k := c.chunk(g)
		a.uses(from, n.slot(i, k))
		a.acts = append(a.acts, ir.PutAs(n.slot(i, k), to, n.partial(as, k)))
	}
	a.join(first)
	a.end(from)
}

// contributeTo writes the rule by which a slave puts its contribution to its master.
func (a *arena) contributeTo(n *node, c *layer) {
	a.putPartial(n, c, own, n.master(n.v), n.slaveIndex())
}

// contribution writes the rules by which the node, a master, folds its host's contribution to the
// layer from its own part and its slaves' parts. It returns the partial result. sole says that
// there is no other host, so the fold makes the result.
func (a *arena) contribution(n *node, c *layer, sole bool) int {
	k := n.slaves()
	t := foldTree{node: n, arena: a, layer: c, own: own, next: k}
	return t.fold(k+1, sole)
}

// contributionOfPair writes the rules by which a master that takes part folds its own host's
// contribution with the contribution of the host for which it takes part. It returns the partial
// result.
func (a *arena) contributionOfPair(n *node, c *layer) int {
	have := a.contribution(n, c, n.hosts == 1)
	if !n.stands(n.v) {
		return have
	}
	theirs := n.ofHost(n.v)
	left, right := have, theirs
	if n.v%2 == 1 {
		left, right = theirs, have
	}
	from := a.begin()
	for g := range c.units {
		k := c.chunk(g)
		a.uses(from, n.slot(left, k))
		a.uses(from, n.slot(right, k))
		a.fold(n.partial(theirs+1, k), n.slot(left, k), n.slot(right, k))
	}
	a.end(from)
	return theirs + 1
}

// putBeside writes the rules by which a master that does not take part contributes. It puts the
// contribution of its host to the master that takes part for it.
func (a *arena) putBeside(n *node, c *layer) {
	a.putPartial(n, c, a.contribution(n, c, false), n.master(n.v^1), n.ofHost(n.v^1))
}

// foldTree folds partial results at one rank by the tree of doubling. So if the number of ranks at
// each host is a power of two, the ranks fold the same tree as without hosts.
//
// Leaf i is partial result first+i before the rank's own leaf, and first+i-1 after it.
type foldTree struct {
	*node
	*arena
	*layer
	at    int // index of the rank's own leaf
	own   int // its partial result
	first int // the partial result of the first other leaf
	next  int // the first partial result that a fold makes

	// apart says that the partial results of this tree have a numbering of their own: v<base>,
	// v<base+step> … . Then own is ofHost, which stands for partial result host.
	apart            bool
	base, step, host int

	p2, rem int
	result  bool
}

// named returns the slot of partial result i for chunk k.
func (t *foldTree) named(i, k int) ir.Slot {
	switch {
	case !t.apart || i == result:
		return t.node.slot(i, k)
	case i == ofHost:
		return t.node.slot(t.host, k)
	}
	return ir.Value(t.base + i*t.step)
}

// foldsOf returns how many folds fold makes of the given number of leaves: one for each even
// number, and one for each odd number that has two leaves. It is 0 for a single leaf.
func foldsOf(leaves int) int {
	p2, rem := powerBelow(leaves)
	if p2 == 1 {
		return 0
	}
	return p2/2 + rem/2
}

// fold folds all leaves and returns the partial result that it makes, or result if makes is true.
func (t *foldTree) fold(leaves int, makes bool) int {
	t.p2, t.rem = powerBelow(leaves)
	t.result = makes
	return t.under(0, t.p2)
}

// leaf returns the partial result of leaf i.
func (t *foldTree) leaf(i int) int {
	switch {
	case i == t.at:
		return t.own
	case i > t.at:
		i--
	}
	return t.first + i
}

// under writes the folds of numbers consecutive numbers, a power of two, from number on. One fold
// has the leaves of the first number and the trees of the next 1, 2, 4 … numbers as operands.
func (t *foldTree) under(number, numbers int) int {
	var operands [2 + 20]int
	n := 0
	add := func(i int) { operands[n], n = i, n+1 }
	if number < t.rem {
		add(t.leaf(2 * number))
		add(t.leaf(2*number + 1))
	} else {
		add(t.leaf(number + t.rem))
	}
	for next := 1; next < numbers; next *= 2 {
		add(t.under(number+next, next))
	}
	made := t.next
	switch whole := numbers == t.p2; {
	case whole && t.result:
		made = result
	case n == 1:
		return operands[0]
	default:
		t.next++
	}
	from := t.begin()
	for _, i := range operands[:n] {
		for g := range t.units {
			t.uses(from, t.named(i, t.chunk(g)))
		}
	}
	for g := range t.units {
		k := t.chunk(g)
		for i, operand := range operands[:n] {
			t.acts = append(t.acts, ir.Action{Op: ir.Fold, Joins: i > 0, Slot: t.named(operand, k), As: t.named(made, k)})
		}
	}
	t.end(from)
	return made
}

// shareResult writes the rule by which a master puts chunk k of the result to the host that it
// takes part for and to its slaves.
func (a *arena) shareResult(n *node, k int) {
	from := a.begin()
	a.uses(from, ir.Chunk(k))
	if n.stands(n.v) {
		a.put(ir.Chunk(k), n.master(n.v^1))
	}
	a.share(n, k)
	a.end(from)
}

// foldedProgram returns the finished program of a rank that wants the chunks first …
// first+chunks-1.
func (a *arena) foldedProgram(n *node, first, chunks int) ir.Program {
	from := len(a.slots)
	for k := range chunks {
		a.wait(ir.Chunk(first + k))
	}
	return a.program(n, 0, a.span(from, len(a.slots)))
}

// lastRule notes that the rank may not return before the last rule has fired. One rule makes all
// partial results for which the last rule waits, so it is enough to wait for the last of them.
func (a *arena) lastRule() {
	when := a.rules[len(a.rules)-1].When
	if a.counts {
		slices.Sort(when) // end has not
	}
	for i, s := range when {
		if s.Kind() == ir.KindChunk || s.Kind() == ir.KindValue && i == len(when)-1 {
			a.late = append(a.late, s)
		}
	}
}

// reducedProgram returns the finished program of a rank in a reduce. lastRule has noted the last
// rules of ranks without a result.
func (a *arena) reducedProgram(n *node) ir.Program {
	if n.rank == n.dest {
		return a.foldedProgram(n, 0, n.chunks)
	}
	return a.lateProgram(n)
}

// lateProgram returns the finished program of a rank that wants nothing.
func (a *arena) lateProgram(n *node) ir.Program {
	from := len(a.slots)
	slices.Sort(a.late)
	a.late = slices.Compact(a.late)
	a.slots = append(a.slots, a.late...)
	if len(a.late) == 0 {
		a.wait(ir.Enter)
	}
	return a.program(n, 0, a.span(from, len(a.slots)))
}

// homeOf returns the virtual rank of the root's host in a reduce.
func (n *node) homeOf() int { return n.host(n.dest) }

// putHome writes the rule by which the master of the root's host puts the result to the root,
// unless it is the root itself.
func (a *arena) putHome(n *node, c *layer) {
	if n.rank == n.dest {
		return
	}
	from, first := a.begin(), len(a.acts)
	for g := range c.units {
		k := ir.Chunk(c.chunk(g))
		a.uses(from, k)
		a.put(k, n.dest)
	}
	a.join(first)
	a.end(from)
}
