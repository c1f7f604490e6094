package schedule

import "github.com/schedgen/schedgen/ir"

// reduceBinomial climbs a binomial tree. In round i the ranks that have bit i of their number put
// their partial results to the ranks that have not, and are done. The receiver folds the two, the
// lower rank's on the left.
//
// Bits are counted from the root: a rank has a bit if its number differs from the root's in that
// bit. So no root costs an additional message, and the tree is the tree of allreduce/doubling.
func reduceBinomial() Algorithm {
	return Algorithm{
		Name:       "reduce/binomial",
		Collective: Reduce,
		Paper:      "Thakur 2005 §4.4",
		Summary:    "partial results climb a binomial tree",
		Messages:   "F(P-1) puts",
		Params:     rootedParams(),
		InPlace:    true,
		RankOrder:  true,
		Tree:       TreeOfDoubling,
		write:      writeReduceBinomial,
	}
}

func writeReduceBinomial(n *node, a *arena) ir.Program {
	for f := range n.chunks {
		c := n.ofChunk(f)
		a.climb(n, &c, n.homeOf())
		if n.isMaster() && n.v == n.homeOf() {
			a.putHome(n, &c)
		}
		a.lastRule()
	}
	return a.reducedProgram(n)
}

// climb writes the rules that bring the result of a chunk to the master of virtual rank home.
func (a *arena) climb(n *node, c *layer, home int) {
	number := n.number(n.v)
	switch {
	case !n.isMaster():
		a.contributeTo(n, c)
		return
	case number < 0:
		a.putBeside(n, c)
		return
	}
	k := c.chunk(0)
	top, have := n.number(home), a.contributionOfPair(n, c)
	p2, _ := powerBelow(n.hosts)
	for bit, at := 1, 0; bit < p2; bit, at = 2*bit, at+2 {
		if (number^top)&bit != 0 {
			to := n.numbered(number ^ bit)
			a.putPartial(n, c, have, n.master(to), n.ofPair(to)+at)
			return
		}
		theirs := n.ofPair(n.v) + at
		made := theirs + 1
		if 2*bit == p2 {
			made = result
		}
		if number&bit == 0 {
			a.foldTwo(n.slot(made, k), n.slot(have, k), n.slot(theirs, k))
		} else {
			a.foldTwo(n.slot(made, k), n.slot(theirs, k), n.slot(have, k))
		}
		have = made
	}
}
