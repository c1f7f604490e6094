package schedule

import "github.com/schedgen/schedgen/ir"

// bcastTwoTree sends each chunk down one of two trees: see twoTrees.
func bcastTwoTree() Algorithm {
	return Algorithm{
		Name:       "bcast/two-tree",
		Collective: Bcast,
		Paper:      "Sanders 2009",
		Summary:    "even chunks down one binary tree, odd chunks down another, whose inner nodes are the first's leaves",
		Messages:   "F(P-1) puts",
		Params:     bcastParams(),
		write:      writeBcastTwoTree,
	}
}

func writeBcastTwoTree(n *node, a *arena) ir.Program {
	if n.isMaster() && n.isRoot() {
		a.wait(ir.Enter)
		for f := range n.chunks {
			a.putDown(n, f, n.v)
		}
		a.rule(a.span(0, 1))
		return a.program(n, 0, a.span(0, 1))
	}
	a.waitChunks(n.chunks)
	for f := range n.chunks {
		if n.isMaster() {
			a.putDown(n, f, n.v)
			a.rule(a.span(f, f+1))
		}
	}
	return a.program(n, 0, a.span(0, n.chunks))
}
