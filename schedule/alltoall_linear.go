package schedule

import "github.com/schedgen/schedgen/ir"

// alltoallLinear lets every rank put all its blocks at once, each to its rank (R. Thakur et al.,
// 2005, §4.3). A rank starts with the rank that follows it, so that not all ranks start with the
// same one. Messages may still meet later at one rank; alltoall/pairwise avoids this for long
// blocks.
func alltoallLinear() Algorithm {
	return crossing{
		sends: func(n node) size {
			if n.hosts == 1 {
				return size{}
			}
			k := n.slaves()
			others := n.ranks - 1 - k
			return n.eachChunkSize(1+k*others, (k+1)*others)
		},
		fillSends: func(n node, a arena) arena {
			if n.hosts == 1 {
				return a
			}
			own, others := n.ranksOf(n.v, 1), n.ranksOf(n.after(n.v, 1), n.hosts-1)
			a.eachChunk(&n, func(f int) {
				a.wait(ir.Enter)
				a.waitPairs(&n, own, others, f)
			}, func(f int) {
				for d := 1; d < n.hosts; d++ {
					a.putAcross(&n, d, f)
				}
			})
			return a
		},
		deliveries: directDeliveries,
		delivery:   directDelivery,
	}.algorithm(Algorithm{
		Name:     "alltoall/linear",
		Paper:    "Thakur 2005 §4.3",
		Summary:  "every rank puts all its blocks at once, each to its rank",
		Messages: "F·P(P-1) puts",
	})
}

// putAcross adds a message with chunk f of all blocks from the node's host to the host d after it.
func (a *arena) putAcross(n *node, d, f int) {
	start, to := len(a.acts), n.after(n.v, d)
	a.putPairs(n, n.ranksOf(n.v, 1), n.ranksOf(to, 1), f, n.master(to))
	a.join(start)
}
