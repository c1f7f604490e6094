package schedule

import "github.com/schedgen/schedgen/ir"

// reduceChain is a pipeline. Each rank folds the partial result of its neighbour with its own
// contribution and puts it on. One chain goes from rank 0 up to the root, and one from the last
// rank down to it, so that contributions stay in the order of the ranks. The chunks follow each
// other.
func reduceChain() Algorithm {
	return Algorithm{
		Name:       "reduce/chain",
		Collective: Reduce,
		Paper:      "ours",
		Summary:    "two chains, from the first and from the last rank to the root, fold on the way",
		Messages:   "F(P-1) puts",
		Params:     rootedParams(),
		InPlace:    true,
		RankOrder:  true,
		write:      writeReduceChain,
	}
}

func writeReduceChain(n *node, a *arena) ir.Program {
	home := n.homeOf()
	for f := range n.chunks {
		c := n.ofChunk(f)
		if !n.isMaster() {
			a.contributeTo(n, &c)
			continue
		}
		have, base := a.contribution(n, &c, n.hosts == 1), n.ofHost(n.v)
		switch {
		case n.v < home:
			if n.v > 0 {
				a.foldTwo(n.slot(base+1, f), n.slot(base, f), n.slot(have, f))
				have = base + 1
			}
			a.putPartial(n, &c, have, n.master(n.v+1), n.ofHost(n.v+1))
		case n.v > home:
			if n.v < n.hosts-1 {
				a.foldTwo(n.slot(base+1, f), n.slot(have, f), n.slot(base, f))
				have = base + 1
			}
			at := n.ofHost(n.v - 1)
			if n.v-1 == home {
				at += count(home > 0) // the partial result from below comes before it
			}
			a.putPartial(n, &c, have, n.master(n.v-1), at)
		default:
			a.foldChains(n, have, f)
			a.putHome(n, &c)
		}
		a.lastRule()
	}
	return a.reducedProgram(n)
}

// foldChains writes the fold at the host where both chains end.
func (a *arena) foldChains(n *node, have, f int) {
	if n.hosts == 1 {
		return
	}
	var operands [3]ir.Slot
	all, next := operands[:0], n.ofHost(n.v)
	if n.v > 0 {
		all, next = append(all, n.slot(next, f)), next+1
	}
	all = append(all, n.slot(have, f))
	if n.v < n.hosts-1 {
		all = append(all, n.slot(next, f))
	}
	from := a.begin()
	for _, s := range all {
		a.uses(from, s)
	}
	a.fold(ir.Chunk(f), all...)
	a.end(from)
}
