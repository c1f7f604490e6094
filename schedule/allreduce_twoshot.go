package schedule

import "github.com/schedgen/schedgen/ir"

// allreduceTwoShot takes two rounds. It cuts the vector into P pieces. Every rank gets all
// contributions to its own piece, folds them by the tree of doubling, and puts the result to all
// others. Each rank sends 2(P-1) pieces, no more than in a ring, and waits for at most two messages
// in sequence. In return each rank sends 2(P-1) messages. Libraries for accelerators call this
// two-shot, and allreduce/linear one-shot.
func allreduceTwoShot() Algorithm {
	return Algorithm{
		Name:       "allreduce/two-shot",
		Collective: Allreduce,
		Paper:      "ours",
		Summary:    "every rank folds its piece of all contributions, and puts the result to all others",
		Messages:   "2F(P-1) puts",
		Params:     unrootedParams(),
		RankOrder:  true,
		Tree:       TreeOfDoubling,
		InPlace:    true,
		chunks:     func(group int) int { return group },
		write:      writeAllreduceTwoShot,
	}
}

func writeAllreduceTwoShot(n *node, a *arena) ir.Program {
	if n.isMaster() && n.hosts > 1 {
		a.twoShot(n)
		return a.foldedProgram(n, 0, n.chunks)
	}
	for k := range n.chunks {
		c := n.ofChunk(k)
		if n.isMaster() {
			a.contribution(n, &c, true)
			a.shareResult(n, k)
		} else {
			a.contributeTo(n, &c)
		}
	}
	return a.foldedProgram(n, 0, n.chunks)
}

// ofHost stands for the contribution of the host, whichever partial result that is.
const ofHost = -3

// twoShot writes the program of a master. For each chunk of its own piece, a master has hosts-1
// partial results of others, in their order, and then the results of its own folds.
func (a *arena) twoShot(n *node) {
	have := own
	for k := range n.chunks {
		c := n.ofChunk(k)
		have = a.contribution(n, &c, false) // the same for every chunk
	}
	for d := 1; d < n.hosts; d++ {
		to := n.after(n.v, d)
		for k, end := n.pieces(to, to+1); k < end; k++ {
			i := n.v
			if i > to {
				i--
			}
			a.putAs(n.slot(have, k), n.master(to), ir.Value(n.shotAt(to, k)+i))
		}
	}
	for k, end := n.pieces(n.v, n.v+1); k < end; k++ {
		c := n.ofChunk(k)
		t := foldTree{
			node: n, arena: a, layer: &c, at: n.v, own: ofHost, next: n.hosts - 1,
			apart: true, base: n.shotAt(n.v, k), step: 1, host: have,
		}
		t.fold(n.hosts, true)
	}
	for d := range n.hosts {
		from := n.after(n.v, -d)
		for k, end := n.pieces(from, from+1); k < end; k++ {
			start := a.begin()
			a.uses(start, ir.Chunk(k))
			for o := 1; d == 0 && o < n.hosts; o++ {
				a.put(ir.Chunk(k), n.master(n.after(n.v, o)))
			}
			a.share(n, k)
			a.end(start)
		}
	}
}

// shotAt returns the first partial result that v has for chunk k of its piece.
func (n *node) shotAt(v, k int) int {
	first, _ := n.pieces(v, v+1)
	each := n.hosts - 1 + foldsOf(n.hosts) - 1 // the last fold makes the result
	return n.ofHost(v)*n.vector + (k-first)*each
}
