package schedule

import "github.com/schedgen/schedgen/ir"

// alltoallPairwise goes round (R. Thakur et al., 2005, §4.3). In round i a rank puts a block to the
// rank i after it and gets one from the rank i before it. It puts the next block when that one has
// arrived. So every rank sends one block and receives one at any time, and no link is crowded even
// with long blocks. Chunk f of a block waits for chunk f of the previous block.
func alltoallPairwise() Algorithm {
	return crossing{
		sends:      sizePairwise,
		fillSends:  fillPairwise,
		deliveries: directDeliveries,
		delivery:   directDelivery,
	}.algorithm(Algorithm{
		Name:     "alltoall/pairwise",
		Paper:    "Thakur 2005 §4.3",
		Summary:  "round i: a block to the rank i after, when that of the round before has come",
		Messages: "F·P(P-1) puts",
	})
}

func sizePairwise(n node) size {
	if n.hosts == 1 {
		return size{}
	}
	k := n.slaves()
	others := n.ranks - 1 - k
	first := n.ranksOf(n.after(n.v, 1), 1).n
	z := n.eachChunkSize(1+k*first, (k+1)*first)
	later := size{rules: n.hosts - 2, slots: 2*(n.hosts-2) + k*(others-first), acts: (k + 1) * (others - first)}
	return z.plus(later.times(n.chunks))
}

func fillPairwise(n node, a arena) arena {
	own := n.ranksOf(n.v, 1)
	for d := 1; d < n.hosts; d++ {
		to := n.ranksOf(n.after(n.v, d), 1)
		a.eachChunk(&n, func(f int) {
			a.wait(ir.Enter)
			if d > 1 {
				a.wait(n.pair(n.master(n.after(n.v, 1-d)), n.rank, f))
			}
			a.waitPairs(&n, own, to, f)
		}, func(f int) { a.putAcross(&n, d, f) })
	}
	return a
}
