package schedule

import "github.com/schedgen/schedgen/ir"

// reduceScatterLinear takes one round. Every rank puts its contribution to each block to the rank
// that wants the block, first to the ranks that follow it. Each rank folds what it gets by the tree
// of doubling.
func reduceScatterLinear() Algorithm {
	return Algorithm{
		Name:       "reduce-scatter/linear",
		Collective: ReduceScatter,
		Paper:      "ours",
		Summary:    "every rank puts its part of each block to the block's rank, which folds them all",
		Messages:   "F·P(P-1) puts",
		Params:     unrootedParams(),
		RankOrder:  true,
		Tree:       TreeOfDoubling,
		InPlace:    true,
		write:      writeReduceScatterLinear,
	}
}

func writeReduceScatterLinear(n *node, a *arena) ir.Program {
	for f := range n.chunks {
		c := n.ofBlocks(ofBlocks, f)
		if !n.isMaster() {
			a.contributeTo(n, &c)
			continue
		}
		have := a.contribution(n, &c, n.hosts == 1)
		if n.hosts > 1 {
			a.hold(n, &c, have)
			for d := 1; d < n.hosts; d++ {
				to := n.after(n.v, d)
				at := n.v
				if at > to {
					at--
				}
				a.putParts(&c, parts{to, 1, 1}, n.master(to), n.ofHost(to), at*(n.slavesOf(to)+1))
			}
			a.foldBlocks(n, &c, have)
		}
		a.scatterOnHost(n, f)
	}
	return a.scatteredProgram(n, n.hosts > 1)
}

// scatteredProgram returns the finished program of a rank that wants its block. apart says that the
// blocks of a master's slaves may come later than its own. Then the master may not return before it
// has them.
func (a *arena) scatteredProgram(n *node, apart bool) ir.Program {
	from := len(a.slots)
	for f := range n.chunks {
		a.wait(n.block(n.rank, f))
	}
	for i := range n.slaves() {
		for f := 0; apart && n.isMaster() && f < n.chunks; f++ {
			a.wait(n.block(n.slave(i), f))
		}
	}
	return a.program(n, 0, a.span(from, len(a.slots)))
}

// foldBlocks writes the folds of a master that has got all contributions to the blocks of its host.
// It has one partial result a block from each host, and its folds make as many. have is the
// contribution of its own host.
func (a *arena) foldBlocks(n *node, c *layer, have int) {
	base, each := n.ofHost(n.v), n.slaves()+1
	first, end := c.span(parts{n.v, 1, 1}, 0)
	for g := first; g < end; g++ {
		one := n.ofChunk(c.chunk(g))
		t := foldTree{
			node: n, arena: a, layer: &one, at: n.v, own: ofHost, next: n.hosts - 1,
			apart: true, base: c.value(base, g-first).Index(), step: each * c.stride, host: have,
		}
		t.fold(n.hosts, true)
	}
}
