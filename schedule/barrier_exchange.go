package schedule

import "github.com/schedgen/schedgen/ir"

// exchange is the n-ary exchange barrier (paper 003, §4.2, mode 1). In step i, groups of n ranks
// meet whose numbers differ only in digit i to base n. That needs a power of n. If P is not a
// power, let C be the largest power below P. The ranks from C on, the extras, check in at a rank of
// the core before the steps, and that rank releases them afterwards. Extra e belongs to rank e
// modulo C.
//
// It takes log_n P rounds if P is a power of n, ⌊log_n P⌋+1 rounds if there are at most C/n extras,
// and ⌊log_n P⌋+2 rounds otherwise. In its last step a rank is delayed only by a rank that differs
// from it in every digit. No two of the ranks 0 … C/n-1 do, hence the second case. The paper allows
// ⌈log_n P⌉+2.
//
// A rank serves its group backwards, starting with its predecessor. Without extras, forwards takes
// as long in LogGP. Extras delay the ranks of low numbers, and then forwards takes up to 15 %
// longer, 0.9 % on average (doc.go, Order).
//
// The signals of a rank of the core are first the check-ins of its extras. Then follow the flags:
// flag i·(n-1) + j-1 belongs to step i and comes from the rank whose digit i is smaller by j modulo
// n. An extra has one signal, its release.
func exchange() Algorithm {
	return Algorithm{
		Name:       "barrier/exchange",
		Collective: Barrier,
		Paper:      "003 §4.2",
		Summary:    "n-ary exchange: groups of n that differ in one digit meet, log_n P steps",
		Messages:   "P(n-1)log_n P where P is a power of n",
		Params:     naryParams(),
		size:       sizeExchange,
		fill:       fillExchange,
		slaves:     barrierSlaves,
	}
}

// corePower returns the largest power of degree that is at most group, and its exponent.
func corePower(group, degree int) (power, steps int) {
	power = 1
	for power*degree <= group {
		power *= degree
		steps++
	}
	return power, steps
}

// extrasOf returns how many extras check in at rank v of the core.
func extrasOf(v, group, core int) int { return (group - 1 - v) / core }

func sizeExchange(n node) size {
	core, steps := corePower(n.hosts, n.degree)
	slaves := n.slaves()
	if n.v >= core {
		return size{rules: 1 + count(slaves > 0), slots: 2 + slaves, acts: 1 + slaves}
	}
	extras := extrasOf(n.v, n.hosts, core)
	flags := steps * (n.degree - 1)
	return size{
		rules: steps + count(extras+slaves > 0),
		slots: 1 + slaves + extras + flags,
		acts:  flags + extras + slaves,
	}
}

func fillExchange(n node, a arena) ir.Program {
	core, steps := corePower(n.hosts, n.degree)
	if n.v >= core {
		return fillExtra(&n, a, core)
	}
	extras := extrasOf(n.v, n.hosts, core)
	signals := cap(a.slots) - 1
	a.arrive(&n)
	a.waitSignals(n.slaves(), signals)
	seen := 1 + n.slaves() + extras
	for step, stride := 0, 1; step < steps; step++ {
		a.meet(&n, core, step, stride)
		a.rule(a.span(0, seen))
		seen += n.degree - 1
		stride *= n.degree
	}
	for e := range extras {
		extra := n.v + (e+1)*core
		a.put(n.signal(extra, 0), n.master(extra))
	}
	a.release(&n)
	a.rule(a.span(0, seen))
	return a.program(&n, signals, a.arrived())
}

// meet sets the flags of one step at the other ranks of the node's group.
func (a *arena) meet(n *node, core, step, stride int) {
	digit := n.v / stride % n.degree
	for j := n.degree - 1; j > 0; j-- {
		to := n.v + ((digit+j)%n.degree-digit)*stride
		flag := extrasOf(to, n.hosts, core) + step*(n.degree-1) + j - 1
		a.put(n.signal(to, flag), n.master(to))
	}
}

func fillExtra(n *node, a arena, core int) ir.Program {
	a.arrive(n)
	arrival := a.span(0, len(a.slots))
	a.wait(n.signal(n.v, 0))
	released := a.span(len(arrival), len(a.slots))
	at := n.v % core
	a.put(n.signal(at, n.v/core-1), n.master(at))
	a.rule(arrival)
	a.release(n)
	a.rule(released)
	return a.program(n, len(arrival), released)
}
