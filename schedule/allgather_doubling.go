package schedule

// allgatherDoubling is all ranks' binomial trees by distance doubling at once (see
// bcast/binomial-doubling), the mirror image of allgather/bruck: in round i a rank puts its own
// block and the min(2^i, P-2^i)-1 before it to the rank 2^i after it. Where P is a power of two, it
// sends as much in each round as the recursive doubling of R. Thakur et al. (2005, §4.1), which
// exchanges with the rank whose number differs in one bit, and needs further rounds elsewhere.
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
