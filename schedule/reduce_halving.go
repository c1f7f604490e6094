package schedule

import (
	"math/bits"

	"github.com/schedgen/schedgen/ir"
)

// reduceHalving is halving (see halving.go), followed by a binomial gather. The gather runs the
// same rounds backwards: a rank puts its results to the rank that is nearer to the root, and is
// done.
func reduceHalving() Algorithm {
	return Algorithm{
		Name:       "reduce/halving",
		Collective: Reduce,
		Paper:      "Thakur 2005 §4.4",
		Summary:    "round i: fold half of what remains with the rank whose number differs in bit i; a binomial tree gathers the results",
		Messages:   "p2·log2 p2 + P-1 puts of F/p2 … F/2 chunks, p2 the largest power of two up to P; F = p2 by default, a larger F has more",
		Params:     rootedParams(),
		InPlace:    true,
		RankOrder:  true,
		Tree:       TreeOfDoubling,
		relays:     true,
		chunks:     halvedChunks,
		write:      writeReduceHalving,
	}
}

func writeReduceHalving(n *node, a *arena) ir.Program {
	p2, _ := powerBelow(n.hosts)
	home := n.homeOf()
	for j := range n.layers(p2) {
		c := n.ofVector(p2, j)
		switch number := n.number(n.v); {
		case !n.isMaster():
			a.contributeTo(n, &c)
		case number < 0:
			a.putBeside(n, &c)
		case n.v == home:
			a.halve(n, &c)
			a.putHome(n, &c)
		default:
			a.halve(n, &c)
			bit := 1 << (bits.Len(uint(number^n.number(home))) - 1)
			a.putResults(&c, c.keptBefore(number, 2*bit), n.master(n.numbered(number^bit)))
		}
		a.lastRule()
	}
	return a.reducedProgram(n)
}
