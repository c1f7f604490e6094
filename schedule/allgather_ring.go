package schedule

// allgatherRing passes every block along a ring (R. Thakur et al., 2005, §4.1): a rank puts its own
// block to the next one, and what it gets as well, but for the last. Every rank talks to its
// neighbours alone, so it is as fast as links are, whatever lies between them, and takes P-1 steps.
func allgatherRing() Algorithm {
	return spread{
		rounds: func(hosts int) int { return hosts - 1 },
		sends: func(l layout, v, i int) (to, first, hosts int) {
			return l.after(v, 1), l.after(v, -i), 1
		},
		gets: func(l layout, v, i int) (first, hosts int) { return l.after(v, -1-i), 1 },
		sum:  sumOfRing,
	}.algorithm(Algorithm{
		Name:     "allgather/ring",
		Paper:    "Thakur 2005 §4.1",
		Summary:  "every rank passes each block to the next",
		Messages: "F·P(P-1) puts",
	})
}

// sumOfRing returns what sumOfRounds would, without going round: the blocks of all hosts but the
// next one's, those of the own host first.
func sumOfRing(n node) size {
	if n.hosts == 1 {
		return size{}
	}
	own, next := n.slaves()+1, n.ranksOf(n.after(n.v, 1), 1).n
	z := n.eachChunkSize(own, own)
	passed := n.ranks - own - next
	return z.plus(size{rules: n.hosts - 2, slots: passed, acts: passed}.times(n.chunks))
}
