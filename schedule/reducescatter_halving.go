package schedule

import "github.com/schedgen/schedgen/ir"

// reduceScatterHalving is halving (see halving.go) of the blocks. If another rank takes part for a
// rank, it puts the rank's block to it at the end.
func reduceScatterHalving() Algorithm {
	return Algorithm{
		Name:       "reduce-scatter/halving",
		Collective: ReduceScatter,
		InPlace:    true,
		Paper:      "Thakur 2005 §4.3",
		Summary:    "round i: fold half of the blocks that remain with the rank whose number differs in bit i",
		Messages:   "F(p2·log2 p2 + 2(P-p2)) puts, p2 the largest power of two up to P",
		Params:     unrootedParams(),
		RankOrder:  true,
		Tree:       TreeOfDoubling,
		relays:     true,
		write:      writeReduceScatterHalving,
	}
}

func writeReduceScatterHalving(n *node, a *arena) ir.Program {
	for f := range n.chunks {
		c := n.ofBlocks(ofPairs, f)
		switch {
		case !n.isMaster():
			a.contributeTo(n, &c)
		case n.number(n.v) < 0:
			a.putBeside(n, &c)
			a.scatterResults(n, f)
		default:
			a.halve(n, &c)
			a.scatterResults(n, f)
		}
	}
	first, chunks := n.rank*n.chunks, n.chunks
	if n.isMaster() && n.number(n.v) < 0 { // it passes on the blocks that it gets
		chunks *= n.slaves() + 1
	}
	return a.foldedProgram(n, first, chunks)
}

// scatterResults writes a rule by which a master puts all results at once: first the results of the
// host for which it takes part, then the results of its slaves.
func (a *arena) scatterResults(n *node, f int) {
	from := a.begin()
	if n.stands(n.v) {
		a.usesBlocks(n, n.v^1, from, f)
		first := len(a.acts)
		for rank := n.first(n.v ^ 1); rank < n.first(n.v^1+1); rank++ {
			a.put(n.block(rank, f), n.master(n.v^1))
		}
		a.join(first)
	}
	for i := range n.slaves() {
		a.uses(from, n.block(n.slave(i), f))
		a.put(n.block(n.slave(i), f), n.slave(i))
	}
	a.end(from)
}
