package schedule

import "github.com/schedgen/schedgen/ir"

// mcastBinomial is bcast/mcast-chain with the tree of bcast/binomial as its second stage. Paper
// 000, §2.2, mentions it for the worst case: if no rank receives the multicast, the last rank gets
// a chunk after ⌈log2 P⌉ puts instead of P-1. In return a rank serves several others, so ranks
// return less evenly. If about half of the ranks receive the multicast, as the paper finds, the
// chain is done as early.
//
// Every rank reports to its parent in the tree, so the puts of a long message yield to the
// multicast; see recovery.go.
func mcastBinomial() Algorithm {
	t := tree{mcast: true, late: true, degree: binomialDegree, child: binomialChild}
	return Algorithm{
		Name:       "bcast/mcast-binomial",
		Collective: Bcast,
		Paper:      "000 §2.2",
		Summary:    "two stages at once: unreliable multicast, and a binomial tree that makes it reliable",
		Messages:   "F mcasts, F(P-1) puts",
		Params:     bcastParams(),
		recovers:   true,
		size: func(n node) size {
			z := t.size(n)
			z.peers = peersOfTree(&n)
			return z
		},
		fill: func(n node, a arena) ir.Program {
			a.recoverDown(&n)
			return t.fill(n, a)
		},
		slaves: bcastSlaves,
	}
}
