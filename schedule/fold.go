package schedule

import (
	"math/bits"
	"sync"

	"github.com/schedgen/schedgen/ir"
)

// Collectives that fold. Contributions are folded in the order of the ranks wherever an algorithm
// can: then the schedule serves operations that do not commute. So nothing is rotated by the root,
// and the master of a host is its first rank, which folds those of its host before it takes part.
//
// A rank numbers its partial results by what they are for: the i-th of them is v<i·F>, v<i·F+1> …
// for the chunks 0, 1 … of a block. Whoever puts a partial result to a rank has to know i, which
// depends on the rank's place alone.
//
// Where the number of hosts is no power of two, p2 is the largest one below, and rem = hosts - p2. Of
// the first 2·rem hosts, each odd one puts its contribution to the even one before it, which takes
// part for both: so contributions that are folded stay neighbours. See R. Thakur, R. Rabenseifner
// and W. Gropp (2005, §4.5).

// scratch is memory in which programs are written once to find out how long they are.
var scratch = sync.Pool{New: func() any { return new(memory) }}

// written returns the size of the program that write writes.
func written(n *node, write func(*node, *arena) ir.Program) size {
	m := scratch.Get().(*memory)
	a := arena{rules: m.rules[:0], slots: m.slots[:0], acts: m.acts[:0], peers: m.peers[:0]}
	write(n, &a)
	z := size{len(a.rules), len(a.slots), len(a.acts), len(a.peers)}
	*m = memory{a.rules, a.slots, a.acts, a.peers}
	scratch.Put(m)
	return z
}

// powerBelow returns the largest power of two that is at most n, and what n has beyond it.
func powerBelow(n int) (p2, rem int) {
	p2 = 1 << (bits.Len(uint(n)) - 1)
	return p2, n - p2
}

// number returns which of the p2 hosts that take part virtual rank v is, -1 if the host before it
// takes part for it.
func (l *layout) number(v int) int {
	switch _, rem := powerBelow(l.hosts); {
	case v >= 2*rem:
		return v - rem
	case v%2 == 0:
		return v / 2
	}
	return -1
}

// numbered is the inverse of number.
func (l *layout) numbered(number int) int {
	if _, rem := powerBelow(l.hosts); number >= rem {
		return number + rem
	}
	return 2 * number
}

// stands reports whether v takes part for v+1 as well.
func (l *layout) stands(v int) bool {
	_, rem := powerBelow(l.hosts)
	return v < 2*rem && v%2 == 0
}

// partial returns partial result i of a rank, for chunk f of a block.
func (n *node) partial(i, f int) ir.Slot { return ir.Value(i*n.chunks + f) }

// ofHost returns how many partial results virtual rank v has before it exchanges any with others
// that take part: those of its slaves, that of the host that it stands for, and their folds.
func (l *layout) ofHost(v int) int {
	k := l.slavesOf(v)
	return k + count(k > 0) + 2*count(l.stands(v))
}

// use writes that a rule waits for what it folds or puts: enter for contributions.
func (a *arena) use(slots ...ir.Slot) (when []ir.Slot) {
	from := len(a.slots)
	for _, s := range slots {
		if s.Kind() == ir.KindInput {
			a.wait(ir.Enter)
			break
		}
	}
	for _, s := range slots {
		if s.Kind() != ir.KindInput {
			a.wait(s)
		}
	}
	when = a.span(from, len(a.slots))
	for i := len(when) - 1; i > 0 && when[i] < when[i-1]; i-- { // the last one alone may be out of order
		when[i], when[i-1] = when[i-1], when[i]
	}
	return when
}

// fold adds one fold to the rule that is being written.
func (a *arena) fold(made ir.Slot, operands ...ir.Slot) {
	for i, x := range operands {
		a.acts = append(a.acts, ir.Action{Op: ir.Fold, Joins: i > 0, Slot: x, As: made})
	}
}

// foldTwo writes the rule that folds two slots.
func (a *arena) foldTwo(made, left, right ir.Slot) {
	when := a.use(left, right)
	a.fold(made, left, right)
	a.rule(when)
}

// putAs writes the rule that puts a slot to a rank, where it is partial result v.
func (a *arena) putAs(s ir.Slot, to int, v ir.Slot) {
	when := a.use(s)
	a.acts = append(a.acts, ir.PutAs(s, to, v))
	a.rule(when)
}

// contribution writes the rules by which the host of the node, a master, gets what it contributes to
// chunk f: its own part, folded with those of its slaves and of the host that it stands for. It
// returns the slot; sole says that nobody else contributes, so that the slot is c, the result.
func (a *arena) contribution(n *node, f int, c ir.Slot, sole bool) ir.Slot {
	own, next := ir.Input(f), 0
	if k := n.slaves(); k > 0 || sole {
		made := n.partial(k, f)
		if sole {
			made = c
		}
		from := len(a.slots)
		a.wait(ir.Enter)
		for i := range k {
			a.wait(n.partial(i, f))
		}
		a.fold(made, own)
		for i := range k {
			a.acts = append(a.acts, ir.Action{Op: ir.Fold, Joins: true, Slot: n.partial(i, f), As: made})
		}
		a.rule(a.span(from, len(a.slots)))
		own, next = made, k+1
	}
	if n.stands(n.v) {
		made := n.partial(next+1, f)
		a.foldTwo(made, own, n.partial(next, f))
		own = made
	}
	return own
}
