package schedule

import "github.com/schedgen/schedgen/ir"

// reduceScatterStar takes two rounds and the minimum of messages. Every rank puts its whole
// contribution to rank 0, which folds them by the tree of doubling and puts each block to its rank.
// All blocks go through rank 0, so this is for short blocks.
func reduceScatterStar() Algorithm {
	return Algorithm{
		Name:       "reduce-scatter/star",
		Collective: ReduceScatter,
		Paper:      "ours",
		Summary:    "every rank puts its contribution to rank 0, which folds them all and puts each block to its rank",
		Messages:   "2F(P-1) puts",
		Params:     unrootedParams(),
		RankOrder:  true,
		Tree:       TreeOfDoubling,
		InPlace:    true,
		relays:     true,
		write:      writeReduceScatterStar,
	}
}

func writeReduceScatterStar(n *node, a *arena) ir.Program {
	for f := range n.chunks {
		c := n.ofBlocks(ofBlocks, f)
		if !n.isMaster() {
			a.contributeTo(n, &c)
			continue
		}
		have := a.contribution(n, &c, n.hosts == 1)
		switch {
		case n.v > 0:
			a.putPartial(n, &c, have, n.master(0), n.fromHost(n.v, 0))
		case n.hosts > 1:
			a.foldHosts(n, &c, have)
		}
		for v := 1; n.v == 0 && v < n.hosts; v++ {
			a.putResults(&c, parts{v, 1, 1}, n.master(v))
		}
		a.scatterOnHost(n, f)
	}
	return a.scatteredProgram(n, n.v > 0)
}
