package schedule

import "github.com/schedgen/schedgen/ir"

// allreduceTwoTree folds up to rank 0 and takes the result down again. Rank 0 comes before all
// nodes, and the nodes of a sub-tree follow each other, so contributions stay in the order of the
// ranks.
func allreduceTwoTree() Algorithm {
	return Algorithm{
		Name:       "allreduce/two-tree",
		Collective: Allreduce,
		Paper:      "Sanders 2009",
		Summary:    "even chunks are folded up one binary tree to rank 0 and go down again, odd chunks take another, whose inner nodes are the first's leaves",
		Messages:   "2F(P-1) puts",
		Params:     unrootedParams(),
		InPlace:    true,
		RankOrder:  true,
		write:      writeAllreduceTwoTree,
	}
}

func writeAllreduceTwoTree(n *node, a *arena) ir.Program {
	for f := range n.chunks {
		c := n.ofChunk(f)
		a.foldUp(n, &c, f, 0)
		if n.isMaster() {
			from := a.begin()
			a.uses(from, ir.Chunk(f))
			a.putDown(n, f, n.v)
			a.end(from)
		}
	}
	return a.foldedProgram(n, 0, n.chunks)
}
