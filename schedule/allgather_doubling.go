package schedule

// allgatherDoubling runs the binomial trees by distance doubling of all ranks at once (see
// bcast/binomial-doubling). It is the mirror image of allgather/bruck: in round i a rank puts its
// own block and the min(2^i, P-2^i)-1 blocks before it to the rank 2^i after it. If P is a power of
// two, each round sends as much as in the recursive doubling of R. Thakur et al. (2005, §4.1).
// There a rank exchanges with the rank whose number differs in one bit, which needs additional
// rounds for other P.
func allgatherDoubling() Algorithm {
	s := spread{rounds: logRounds}
	s.sends = func(l layout, v, i int) (to, first, hosts int) {
		hosts = min(1<<i, l.hosts-1<<i)
		return l.after(v, 1<<i), l.after(v, 1-hosts), hosts
	}
	s.gets = func(l layout, v, i int) (first, hosts int) {
		hosts = min(1<<i, l.hosts-1<<i)
		return l.after(v, 1-hosts-1<<i), hosts
	}
	s.sum = s.sumOfRounds
	return s.algorithm(Algorithm{
		Name:     "allgather/doubling",
		Paper:    "Bruck 1997 §4, Thakur 2005 §4.1",
		Summary:  "round i: own and preceding blocks, 2^i of them, to the rank 2^i after",
		Messages: "F·P⌈log2 P⌉ puts of P-1 blocks a rank",
	})
}
