package schedule

import "github.com/schedgen/schedgen/ir"

// mcastChain is the two-stage broadcast (paper 000, §2): the root multicasts
// every chunk and at the same time starts the chain that makes up for what the
// multicast loses. A rule that forwards a chunk does not care which of the two
// brought it, so every rank that the multicast reached is a new root of the
// chain.
//
// The root multicasts all chunks before it puts any: multicasts last take 1.3 times
// as long on average in LogGP, chunk by chunk as long. What it puts is needed where
// the multicast is lost, so it goes as in bcast/chain (doc.go, Order).
//
// Every rank reports to its predecessor, so the puts of a long message yield to the
// multicast: a successor gets by put what it lacks, not all of it once more; see
// recovery.go.
func mcastChain() Algorithm {
	t := tree{mcast: true, degree: chainDegree, child: chainChild}
	return Algorithm{
		Name:       "bcast/mcast-chain",
		Collective: Bcast,
		Paper:      "000 §2",
		Summary:    "two stages at once: unreliable multicast, and a chain that makes it reliable",
		Messages:   "F mcasts, F(P-1) puts",
		Params:     bcastParams(),
		recovers:   true,
		size: func(n node) size {
			z := t.size(n)
			z.peers = peersOfChain(&n)
			return z
		},
		fill: func(n node, a arena) ir.Program {
			a.recoverAlong(&n)
			return t.fill(n, a)
		},
		slaves: bcastSlaves,
	}
}
