package schedule

import "github.com/schedgen/schedgen/ir"

// allreduceHalving is R. Rabenseifner's algorithm by distance doubling. It is halving (see
// halving.go), followed by the same rounds backwards, in which ranks put their results to each
// other.
func allreduceHalving() Algorithm {
	return Algorithm{
		Name:       "allreduce/halving",
		Collective: Allreduce,
		Paper:      "Thakur 2005 §4.5",
		Summary:    "round i: fold half of what remains with the rank whose number differs in bit i; then exchange results, backwards",
		Messages:   "2(p2·log2 p2 + P-p2) puts of F/p2 … F/2 chunks, p2 the largest power of two up to P; F = p2 by default, a larger F has more",
		Params:     unrootedParams(),
		InPlace:    true,
		RankOrder:  true,
		Tree:       TreeOfDoubling,
		chunks:     halvedChunks,
		write:      writeAllreduceHalving,
	}
}

// halvedChunks returns the default number of chunks of a vector that is halved: one a piece.
func halvedChunks(group int) int {
	p2, _ := powerBelow(group)
	return p2
}

func writeAllreduceHalving(n *node, a *arena) ir.Program {
	p2, _ := powerBelow(n.hosts)
	for j := range n.layers(p2) {
		c := n.ofVector(p2, j)
		switch number := n.number(n.v); {
		case !n.isMaster():
			a.contributeTo(n, &c)
		case number < 0:
			a.putBeside(n, &c)
			a.shareParts(n, &c, c.all())
		default:
			kept := a.halve(n, &c)
			for bit := p2 / 2; bit > 0; bit /= 2 {
				a.putResults(&c, c.keptBefore(number, 2*bit), n.master(n.numbered(number^bit)))
			}
			if n.stands(n.v) {
				a.putResults(&c, c.all(), n.master(n.v^1))
			}
			a.shareParts(n, &c, kept)
			for bit := p2 / 2; bit > 0; bit /= 2 {
				a.shareParts(n, &c, c.keptBefore(number^bit, 2*bit))
			}
		}
	}
	return a.foldedProgram(n, 0, n.chunks)
}
