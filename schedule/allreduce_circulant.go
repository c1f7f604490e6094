package schedule

import "github.com/schedgen/schedgen/ir"

// allreduceCirculant is reduce-scatter/circulant of the vector in P pieces, followed by the
// allgather that mirrors it (J. L. Träff, 2024). The allgather runs the same rounds backwards: a
// rank puts the results that it has to the rank from which it got partial results.
func allreduceCirculant() Algorithm {
	return Algorithm{
		Name:       "allreduce/circulant",
		Collective: Allreduce,
		Paper:      "Träff 2024",
		Summary:    "reduce-scatter/circulant of P pieces, then the same rounds backwards with their results",
		Messages:   "2P⌈log2 P⌉ puts of F/P … F/2 chunks; F = P by default, a larger F has more",
		Params:     unrootedParams(),
		InPlace:    true,
		chunks:     func(group int) int { return group },
		write:      writeAllreduceCirculant,
	}
}

func writeAllreduceCirculant(n *node, a *arena) ir.Program {
	for j := range n.layers(n.hosts) {
		c := n.ofVector(n.hosts, j)
		if !n.isMaster() {
			a.contributeTo(n, &c)
			continue
		}
		a.circulate(n, &c)
		for skip := 1; skip < n.hosts; skip = n.skipAfter(skip) {
			sent := n.skipAfter(skip) - skip
			a.putResults(&c, parts{n.v, 1, sent}, n.master(n.after(n.v, -skip)))
		}
		a.shareParts(n, &c, parts{n.v, 1, 1})
		for skip := 1; skip < n.hosts; skip = n.skipAfter(skip) {
			a.shareParts(n, &c, parts{n.after(n.v, skip), 1, n.skipAfter(skip) - skip})
		}
	}
	return a.foldedProgram(n, 0, n.chunks)
}

// skipAfter returns the skip that precedes the given one in the rounds of circulate. Before the
// first skip that is the number of hosts.
func (l *layout) skipAfter(skip int) int {
	left := l.hosts
	for (left+1)/2 > skip {
		left = (left + 1) / 2
	}
	return left
}
