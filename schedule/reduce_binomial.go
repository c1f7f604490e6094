package schedule

import "github.com/schedgen/schedgen/ir"

// reduceBinomial climbs a binomial tree: in round i the ranks that have bit i of their number put what
// they have to the one that has not, and are done; it folds the two with that of the lower number on the left.
//
// Bits are counted from the root: a rank has the bit if it has another one there than the root's number.
// So no root costs a message more, and the tree is that of allreduce/doubling.
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

// climb writes the rules by which the result of a chunk comes about at the master of virtual rank home.
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
