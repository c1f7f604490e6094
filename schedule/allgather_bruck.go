package schedule

import "math/bits"

// allgatherBruck is the concatenation of J. Bruck et al. (1997, §4): in round i a rank puts its own
// block and the min(2^i, P-2^i)-1 that follow it to the rank 2^i before it. ⌈log2 P⌉ rounds, the
// fewest there are with one message a rank and round, for every P, and P-1 blocks from every rank,
// the fewest there are.
//
// The blocks need not be rotated in the end, as in the paper: they have numbers. A round that sends
// the own block alone waits for nothing. The last one does where P is one more than a power of two,
// and then a rank is done a round earlier if it can send two messages at once.
func allgatherBruck() Algorithm {
	s := spread{rounds: logRounds}
	s.sends = func(l layout, v, i int) (to, first, hosts int) {
		return l.after(v, -1<<i), v, min(1<<i, l.hosts-1<<i)
	}
	s.gets = func(l layout, v, i int) (first, hosts int) {
		return l.after(v, 1<<i), min(1<<i, l.hosts-1<<i)
	}
	s.sum = s.sumOfRounds
	return s.algorithm(Algorithm{
		Name:     "allgather/bruck",
		Paper:    "Bruck 1997 §4",
		Summary:  "round i: own and following blocks, 2^i of them, to the rank 2^i before",
		Messages: "F·P⌈log2 P⌉ puts of P-1 blocks a rank",
	})
}

// logRounds returns ⌈log2 hosts⌉.
func logRounds(hosts int) int { return bits.Len(uint(hosts - 1)) }
