package schedule

// allgatherNeighbor exchanges blocks between neighbours in turn (J. Chen et al., 2005). The hosts
// are the pairs 0 1, 2 3, … Each host first exchanges its own blocks within its pair, then the
// blocks of its pair with its other neighbour, and then always the two hosts' blocks that it has
// just got, with one neighbour and the other in turn. A host talks to two others, as in
// allgather/ring, in half as many rounds. It needs an even number of hosts: for an odd one, which
// leaves a host without a pair, the algorithm is allgather/ring.
func allgatherNeighbor() Algorithm {
	ring := spreadAlongRing()
	s := spread{
		rounds: func(hosts int) int {
			if hosts%2 == 1 {
				return ring.rounds(hosts)
			}
			return hosts / 2
		},
		sends: func(l layout, v, i int) (to, first, hosts int) {
			if l.hosts%2 == 1 {
				return ring.sends(l, v, i)
			}
			to = l.after(v, neighborIn(v, i))
			switch i {
			case 0:
				return to, v, 1
			case 1:
				return to, v &^ 1, 2
			}
			return to, neighborPair(l, v, i-1), 2
		},
		gets: func(l layout, v, i int) (first, hosts int) {
			switch {
			case l.hosts%2 == 1:
				return ring.gets(l, v, i)
			case i == 0:
				return v ^ 1, 1
			}
			return neighborPair(l, v, i), 2
		},
	}
	s.sum = func(n node) size {
		if n.hosts%2 == 1 {
			return ring.sum(n)
		}
		return s.sumOfRounds(n)
	}
	return s.algorithm(Algorithm{
		Name:     "allgather/neighbor",
		Paper:    "Chen 2005",
		Summary:  "neighbours exchange blocks in turn, two hosts' blocks a round; a ring if the hosts are odd",
		Messages: "F·P(P-1) puts in P/2 rounds",
	})
}

// neighborIn returns how far after v, 1 or -1, the neighbour is with which v exchanges in round i.
func neighborIn(v, i int) int { return 1 - 2*((v+i)&1) }

// neighborPair returns the first host of the pair whose blocks v gets in round i ≥ 1.
func neighborPair(l layout, v, i int) int { return l.after(v&^1, neighborIn(v, i)*((i+1)&^1)) }
