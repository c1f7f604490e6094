package schedule

import "github.com/schedgen/schedgen/ir"

// reduceTwoTree folds each chunk up one of two trees to the root: see twoTrees.
func reduceTwoTree() Algorithm {
	return Algorithm{
		Name:       "reduce/two-tree",
		Collective: Reduce,
		Paper:      "Sanders 2009",
		Summary:    "even chunks are folded up one binary tree, odd chunks up another, whose inner nodes are the first's leaves",
		Messages:   "F(P-1) puts",
		Params:     rootedParams(),
		InPlace:    true,
		write:      writeReduceTwoTree,
	}
}

func writeReduceTwoTree(n *node, a *arena) ir.Program {
	home := n.homeOf()
	for f := range n.chunks {
		c := n.ofChunk(f)
		a.foldUp(n, &c, f, home)
		if n.isMaster() && n.v == home {
			a.putHome(n, &c)
		}
		a.lastRule()
	}
	return a.reducedProgram(n)
}
