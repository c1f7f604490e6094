package schedule

import "github.com/schedgen/schedgen/ir"

// reduceLinear takes one round. Every rank puts its contribution to the root, which folds them all
// by the tree of doubling.
func reduceLinear() Algorithm {
	return Algorithm{
		Name:       "reduce/linear",
		Collective: Reduce,
		Paper:      "ours",
		Summary:    "every rank puts its contribution to the root, which folds them all",
		Messages:   "F(P-1) puts",
		Params:     rootedParams(),
		InPlace:    true,
		RankOrder:  true,
		Tree:       TreeOfDoubling,
		write:      writeReduceLinear,
	}
}

func writeReduceLinear(n *node, a *arena) ir.Program {
	home := n.homeOf()
	for f := range n.chunks {
		c := n.ofChunk(f)
		if !n.isMaster() {
			a.contributeTo(n, &c)
			continue
		}
		have := a.contribution(n, &c, n.hosts == 1)
		switch {
		case n.v != home:
			a.putPartial(n, &c, have, n.master(home), n.fromHost(n.v, home))
		case n.hosts > 1:
			a.foldHosts(n, &c, have)
			fallthrough
		default:
			a.putHome(n, &c)
		}
		a.lastRule()
	}
	return a.reducedProgram(n)
}
