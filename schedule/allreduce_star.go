package schedule

import "github.com/schedgen/schedgen/ir"

// allreduceStar takes two rounds and the minimum of messages. Every rank puts its contribution to
// rank 0. Rank 0 folds them by the tree of doubling and puts the result to all ranks. This is fast
// if ranks share cores or if the number of messages decides the time, as long as rank 0 keeps up.
func allreduceStar() Algorithm {
	return Algorithm{
		Name:       "allreduce/star",
		Collective: Allreduce,
		Paper:      "ours",
		Summary:    "every rank puts its contribution to rank 0, which folds them all and puts the result to all",
		Messages:   "2F(P-1) puts",
		Params:     unrootedParams(),
		RankOrder:  true,
		Tree:       TreeOfDoubling,
		InPlace:    true,
		write:      writeAllreduceStar,
	}
}

func writeAllreduceStar(n *node, a *arena) ir.Program {
	for k := range n.chunks {
		c := n.ofChunk(k)
		if !n.isMaster() {
			a.contributeTo(n, &c)
			continue
		}
		have := a.contribution(n, &c, n.hosts == 1)
		switch {
		case n.v > 0:
			a.putPartial(n, &c, have, n.master(0), n.fromHost(n.v, 0))
		case n.hosts > 1:
			a.foldHosts(n, &c, have)
		}
		from := a.begin()
		a.uses(from, ir.Chunk(k))
		for v := 1; n.v == 0 && v < n.hosts; v++ {
			a.put(ir.Chunk(k), n.master(v))
		}
		a.share(n, k)
		a.end(from)
	}
	return a.foldedProgram(n, 0, n.chunks)
}
