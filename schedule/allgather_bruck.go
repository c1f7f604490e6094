package schedule

import "math/bits"

// allgatherBruck is the concatenation of J. Bruck et al. (1997, §4). In round i a rank puts its own
// block and the min(2^i, P-2^i)-1 blocks that follow it to the rank 2^i before it. It takes ⌈log2
// P⌉ rounds for every P, the minimum if a rank sends one message a round. Every rank sends P-1
// blocks, also the minimum.
//
// The paper rotates the blocks at the end. That is not necessary here, because blocks have numbers.
// A round waits only for the blocks that it sends. For 2^k < P ≤ 3·2^(k-1), the last round sends
// none of the blocks that the round before it brings. So a rank that can send two messages at once
// is done a round earlier.
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
