package schedule

import "github.com/schedgen/schedgen/ir"

// dissemination is the n-ary dissemination barrier (paper 003, §4.2, mode 2 of the exchange
// algorithms). In step i rank r sets flags at r + j·n^i modulo P for j = 1 … n-1 where j·n^i < P.
// It does so when it has the flags of all earlier steps. Flags of the previous step alone would not
// make it a barrier.
//
// All ranks do the same, so within a step it only matters that all go round together. Going through
// j backwards takes exactly as long in LogGP. Putting in the order of the ranks' numbers takes up
// to 28 % longer, because all ranks would start with rank 0 (doc.go, Order).
//
// Signal i·(n-1) + j-1 is the flag of step i from rank r - j·n^i.
func dissemination() Algorithm {
	return Algorithm{
		Name:       "barrier/dissemination",
		Collective: Barrier,
		Paper:      "003 §4.2",
		Summary:    "n-ary dissemination: ⌈log_n P⌉ steps for any P",
		Messages:   "P(n-1)log_n P where P is a power of n",
		Params:     naryParams(),
		size:       sizeDissemination,
		fill:       fillDissemination,
		slaves:     barrierSlaves,
	}
}

// stepFlags returns how many flags a rank of a group sets in the step of the given stride n^i.
func stepFlags(group, degree, stride int) int { return min(degree-1, (group-1)/stride) }

func sizeDissemination(n node) size {
	z := size{slots: 1 + n.slaves(), acts: n.slaves(), rules: count(n.slaves() > 0)}
	for stride := 1; stride < n.hosts; stride *= n.degree {
		flags := stepFlags(n.hosts, n.degree, stride)
		z.rules++
		z.slots += flags
		z.acts += flags
	}
	return z
}

func fillDissemination(n node, a arena) ir.Program {
	a.arrive(&n)
	seen := len(a.slots)
	signals := cap(a.slots) - 1
	a.waitSignals(n.slaves(), signals)
	for base, stride := 0, 1; stride < n.hosts; stride *= n.degree {
		flags := stepFlags(n.hosts, n.degree, stride)
		for j := 1; j <= flags; j++ {
			to := (n.v + j*stride) % n.hosts
			a.put(n.signal(to, base+j-1), n.master(to))
		}
		a.rule(a.span(0, seen))
		base += flags
		seen += flags
	}
	a.release(&n)
	a.rule(a.span(0, seen))
	return a.program(&n, signals, a.arrived())
}
