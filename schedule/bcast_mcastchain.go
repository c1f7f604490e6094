package schedule

import "github.com/schedgen/schedgen/ir"

// mcastChain is the two-stage broadcast (paper 000, §2). The root multicasts every chunk. At the
// same time it starts the chain that makes up for lost multicasts. A rule that forwards a chunk
// fires whether the multicast or the chain has brought the chunk. So every rank that the multicast
// reaches is a new root of the chain.
//
// The root multicasts all chunks before it puts any. Multicasts last takes 1.3 times as long on
// average in LogGP. Chunk by chunk takes as long on average, and from 12 % less to 21 % more. The
// root's puts are needed where the multicast is lost, so they are ordered as in bcast/chain
// (doc.go, Order).
//
// Every rank reports to its predecessor, so the puts of a long message yield to the multicast. A
// successor gets only the chunks that it lacks by put; see recovery.go.
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
