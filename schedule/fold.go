package schedule

import (
	"math/bits"
	"slices"
	"sync"

	"github.com/schedgen/schedgen/ir"
)

// Collectives that fold. Contributions are folded in the order of the ranks wherever an algorithm
// can: then the schedule serves operations that do not commute. So nothing is rotated by the root,
// and the master of a host is its first rank, which folds those of its host before it takes part.
//
// A rank numbers its partial results by what they are for: those that its slaves put to it come
// first, then those that its host's folds make, then those of the algorithm. The i-th of them is
// v<i·F>, v<i·F+1> … for the chunks 0, 1 … of a vector of F chunks. Whoever puts a partial result
// to a rank has to know i, which depends on the rank's place alone. What algorithms that cut the
// vector into pieces do is in pieces.go.
//
// Where the number of hosts is no power of two, p2 is the largest one below, and rem = hosts - p2. Of
// the first 2·rem hosts, each odd one puts its contribution to the even one before it, which takes
// part for both: so contributions that are folded stay neighbours. See R. Thakur, R. Rabenseifner
// and W. Gropp (2005, §4.5). The hosts that take part are numbered, and the tree of doubling folds
// the numbers 0 and 1, 2 and 3 …, then 0 … 1 and 2 … 3, and so on. Algorithms that fold this tree
// give the same bits.
//
// A reduce does the same with the root in place of the even host of its pair, and has the result
// where the root is.

// desk is where programs that fold are written, and written once before to find out how long they are.
type desk struct {
	node      node
	arena     arena
	now, late []ir.Slot
	to        []int
}

var desks = sync.Pool{New: func() any { return new(desk) }}

// scratch is memory in which programs are written to find out how long they are.
var scratch = sync.Pool{New: func() any { return new(memory) }}

// write returns the program of a node, in an arena of its size.
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

// writeIn returns the program of a node in memory that is made larger as it goes.
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

// written returns the size of the program that write writes.
func written(n node, write func(*node, *arena) ir.Program) size {
	m := scratch.Get().(*memory)
	writeIn(m, n, write)
	z := size{len(m.rules), len(m.slots), len(m.acts), len(m.peers)}
	scratch.Put(m)
	return z
}

// powerBelow returns the largest power of two that is at most n, and what n has beyond it.
func powerBelow(n int) (p2, rem int) {
	p2 = 1 << (bits.Len(uint(n)) - 1)
	return p2, n - p2
}

// number returns which of the p2 hosts that take part virtual rank v is, -1 if the other one of its pair
// takes part for it.
func (l *layout) number(v int) int {
	switch _, rem := powerBelow(l.hosts); {
	case v >= 2*rem:
		return v - rem
	case l.speaks(v):
		return v / 2
	}
	return -1
}

// speaks reports whether v, one of a pair, takes part for both.
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

// stands reports whether v takes part for the other one of its pair, v⊕1, as well.
func (l *layout) stands(v int) bool {
	_, rem := powerBelow(l.hosts)
	return v < 2*rem && l.speaks(v)
}

// partial returns partial result i of a rank, for chunk k of the vector.
func (n *node) partial(i, k int) ir.Slot { return ir.Value(i*n.vector + k) }

// own is the partial result that stands for the rank's own contribution.
const own = -1

// result is the partial result that stands for the result.
const result = -2

// slot returns partial result i for chunk k, which may be own or result.
func (n *node) slot(i, k int) ir.Slot {
	switch i {
	case own:
		return ir.Input(k)
	case result:
		return ir.Chunk(k)
	}
	return n.partial(i, k)
}

// ofHost returns how many partial results virtual rank v has before it exchanges any with other hosts:
// those of its slaves, and their folds.
func (l *layout) ofHost(v int) int {
	k := l.slavesOf(v)
	return k + foldsOf(k+1)
}

// ofPair returns how many partial results virtual rank v has before it exchanges any with others
// that take part: those of its host, that of the host that it stands for, and their fold.
func (l *layout) ofPair(v int) int { return l.ofHost(v) + 2*count(l.stands(v)) }

// begin begins a rule. What it waits for is written by uses, and end ends it.
func (a *arena) begin() (from int) { return len(a.slots) }

// uses writes that the rule that was begun at from uses a slot: it waits for enter if it uses
// contributions, and for each other slot, which is named once.
func (a *arena) uses(from int, s ir.Slot) {
	if s.Kind() == ir.KindInput {
		if len(a.slots) > from && a.slots[from] == ir.Enter {
			return
		}
		a.wait(ir.Enter) // which goes first: no slot is lower
		a.slots[from], a.slots[len(a.slots)-1] = ir.Enter, a.slots[from]
		return
	}
	a.wait(s)
}

// end ends the rule that was begun at from. A rule that does nothing is left out.
func (a *arena) end(from int) {
	if len(a.acts) == a.open {
		a.slots = a.slots[:from]
		return
	}
	when := a.span(from, len(a.slots))
	slices.Sort(when)
	a.rule(when)
}

// fold adds one fold to the rule that is being written.
func (a *arena) fold(made ir.Slot, operands ...ir.Slot) {
	for i, x := range operands {
		a.acts = append(a.acts, ir.Action{Op: ir.Fold, Joins: i > 0, Slot: x, As: made})
	}
}

// foldTwo writes the rule that folds two slots.
func (a *arena) foldTwo(made, left, right ir.Slot) {
	from := a.begin()
	a.uses(from, left)
	a.uses(from, right)
	a.fold(made, left, right)
	a.end(from)
}

// foldOne writes the rule that copies a slot.
func (a *arena) foldOne(made, of ir.Slot) {
	from := a.begin()
	a.uses(from, of)
	a.fold(made, of)
	a.end(from)
}

// putAs writes the rule that puts a slot to a rank, where it is partial result v.
func (a *arena) putAs(s ir.Slot, to int, v ir.Slot) {
	from := a.begin()
	a.uses(from, s)
	a.acts = append(a.acts, ir.PutAs(s, to, v))
	a.end(from)
}

// putPartial writes the rule that puts partial result i, for all parts of the layer in one message, to
// the master of virtual rank v, where it is partial result as.
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

// contribute writes the rule by which a slave puts its contribution to its master.
func (a *arena) contributeTo(n *node, c *layer) {
	a.putPartial(n, c, own, n.master(n.v), n.slaveIndex())
}

// contribution writes the rules by which the host of the node, a master, gets what it contributes to
// the layer: its own part, folded with those of its slaves. It returns the partial result; sole says
// that there is no other host, so that it is the result.
func (a *arena) contribution(n *node, c *layer, sole bool) int {
	k := n.slaves()
	t := foldTree{node: n, arena: a, layer: c, own: own, next: k}
	return t.fold(k+1, sole)
}

// contributionOfPair writes the rules by which a master that takes part gets what it contributes: what
// its host does, folded with what the host does that it stands for.
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

// putBeside writes the rules by which a master contributes that does not take part: it puts what its
// host contributes to the master that does so for it.
func (a *arena) putBeside(n *node, c *layer) {
	a.putPartial(n, c, a.contribution(n, c, false), n.master(n.v^1), n.ofHost(n.v^1))
}

// foldTree folds partial results at one rank, by the tree of doubling. So ranks whose number is
// a power of two at each host fold the tree that they would fold without hosts.
//
// Leaf i is partial result first+i, for the leaves before that of the rank itself, then one less.
type foldTree struct {
	*node
	*arena
	*layer
	at    int // which leaf is the rank's own
	own   int // its partial result
	first int // the partial result of the first other leaf
	next  int // the first partial result that is made

	// Of a tree whose partial results are not numbered as others: they are v<base>, v<base+step> …, and own
	// is ofHost, which stands for partial result host.
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

// foldsOf returns how many folds fold makes of so many leaves: one for every number that is the first
// of several, and for every pair that is not.
func foldsOf(leaves int) int {
	p2, rem := powerBelow(leaves)
	if p2 == 1 {
		return 0
	}
	return p2/2 + rem/2
}

// fold folds all leaves and returns the partial result that is made of them: result, if makes says so.
func (t *foldTree) fold(leaves int, makes bool) int {
	t.p2, t.rem = powerBelow(leaves)
	t.result = makes
	return t.under(0, t.p2)
}

// leaf returns the partial result that leaf i is.
func (t *foldTree) leaf(i int) int {
	switch {
	case i == t.at:
		return t.own
	case i > t.at:
		i--
	}
	return t.first + i
}

// under writes the folds of so many numbers, a power of two, from the given one on. One fold has the
// leaves of the first of them and the trees of the next 1, 2, 4 … numbers.
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

// shareResult writes the rule by which a master puts chunk k of the result to the host that it stands for
// and to its slaves.
func (a *arena) shareResult(n *node, k int) {
	from := a.begin()
	a.uses(from, ir.Chunk(k))
	if n.stands(n.v) {
		a.put(ir.Chunk(k), n.master(n.v^1))
	}
	a.share(n, k)
	a.end(from)
}

// foldedProgram returns the finished program of a rank that wants the given number of chunks, from
// the given one on.
func (a *arena) foldedProgram(n *node, first, chunks int) ir.Program {
	from := len(a.slots)
	for k := range chunks {
		a.wait(ir.Chunk(first + k))
	}
	return a.program(n, 0, a.span(from, len(a.slots)))
}

// lastRule notes that the rank may not return before the rule that was written last. One rule has made all
// the partial results that it waits for, so the last one tells of all.
func (a *arena) lastRule() {
	when := a.rules[len(a.rules)-1].When
	for i, s := range when {
		if s.Kind() == ir.KindChunk || s.Kind() == ir.KindValue && i == len(when)-1 {
			a.late = append(a.late, s)
		}
	}
}

// reducedProgram returns the finished program of a rank in a reduce. lastRule has told what ranks
// without a result do last.
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
	a.slots = append(a.slots, a.late...)
	if len(a.late) == 0 {
		a.wait(ir.Enter)
	}
	return a.program(n, 0, a.span(from, len(a.slots)))
}

// homeOf returns the virtual rank of the root's host in a reduce.
func (n *node) homeOf() int { return n.host(n.dest) }

// putHome writes the rule by which the master of the root's host puts the result to the root, unless it
// is the root itself.
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
