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
// If many ranks lose the multicast, the binomial tree of bcast/mcast-binomial is the faster second
// stage: see [Algorithm.Otherwise].
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
		otherwise:  "bcast/mcast-binomial",
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

// treedFrom is the share of losses from which a binomial tree is the faster second stage. If each rank
// loses the multicast with probability ε, the longest run of such ranks in a chain is about
// log P / log 1/ε long, and the message crosses it one rank after the other. A tree has log₂ P levels at
// most, but its inner ranks put to several others. On modelled machines the two take the same time at
// losses of 5 % to 25 %, the more the dearer a send is for its sender, and hardly depending on the
// number of ranks (schedlab papers --figure 000/second-stage).
const treedFrom = 0.15
