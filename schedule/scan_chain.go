package schedule

import "github.com/schedgen/schedgen/ir"

// scanChain is a pipeline. Each rank folds the result of the rank before it with its own
// contribution. That is its own result, which it puts to the next rank. The chunks follow each
// other.
func scanChain() Algorithm {
	return Algorithm{
		Name:       "scan/chain",
		Collective: Scan,
		Paper:      "ours",
		Summary:    "each rank folds the result of the rank before with its own part and puts it on",
		Messages:   "F(P-1) puts",
		Params:     unrootedParams(),
		RankOrder:  true,
		write:      writeScanChain,
	}
}

func writeScanChain(n *node, a *arena) ir.Program {
	var p prefix
	for f := range n.chunks {
		if !n.isMaster() {
			c := n.ofChunk(f)
			a.contributeTo(n, &c)
			continue
		}
		last := n.block(n.rank+n.slaves(), f)
		if n.v == 0 && n.slaves() == 0 {
			last = ir.Input(f)
		}
		p.foldLocal(n, a, f)
		if n.v > 0 && n.slaves() == 0 {
			a.foldTwo(last, n.partial(0, f), ir.Input(f))
		}
		if next := n.v + 1; next < n.hosts {
			a.putAs(last, n.master(next), n.partial(p.ofLocal(&n.layout, next), f))
		}
		p.foldResults(n, a, n.partial(p.ofLocal(&n.layout, n.v), f), f)
	}
	return p.program(n, a)
}
