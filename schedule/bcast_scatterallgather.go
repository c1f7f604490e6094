package schedule

import "github.com/schedgen/schedgen/ir"

// scatterAllgather is the broadcast of R. van de Geijn for long messages (M. Barnett et al., 1994;
// R. Thakur et al., 2005, §4.2). The message is cut into a piece for each rank. The pieces go down
// the tree of scatter/binomial and then round the ring of allgather/ring. The root sends about
// twice the message, whatever P is, and every other rank sends at most as much.
//
// No rank gets a piece twice. The predecessor of a rank on the ring leaves out the pieces that the
// rank gets by the scatter, for itself and for its sub-tree. No rank passes anything to the root.
// So the ring is a chain from the root on, which starts without waiting for the scatter.
//
// Piece i of P is the chunks ⌊iF/P⌋ … ⌊(i+1)F/P⌋-1, and empty pieces send nothing. The chunks of a
// sub-tree are one message of the scatter. On the ring each chunk goes by itself. bcast/symmetric
// is related: its scatter and its allgather both go straight to the ranks.
func scatterAllgather() Algorithm {
	return Algorithm{
		Name:       "bcast/scatter-allgather",
		Collective: Bcast,
		Paper:      "Barnett 1994, Thakur 2005 §4.2",
		Summary:    "pieces down a binomial tree, a bundle for each sub-tree, and then along a ring",
		Messages:   "fewer than F(P-1) puts, F = P by default: P-1 bundles, the rest one chunk each",
		Params:     bcastParams(),
		chunks:     func(group int) int { return group },
		size:       sizeScatterAllgather,
		fill:       fillScatterAllgather,
		slaves:     bcastSlaves,
	}
}

// pieces returns the chunks lo … hi-1 of the pieces of virtual ranks from … to-1.
func (n *node) pieces(from, to int) (lo, hi int) {
	return from * n.chunks / n.hosts, to * n.chunks / n.hosts
}

// scattered returns the chunks lo … hi-1 that v gets by the scatter.
func (n *node) scattered(v int) (lo, hi int) { return n.pieces(v, v+binomialSpan(v, n.hosts)) }

// passes returns how many chunks the node passes along the ring: all except lo … hi-1.
func (n *node) passes() (chunks, lo, hi int) {
	if n.v+1 == n.hosts {
		return 0, 0, n.chunks
	}
	lo, hi = n.scattered(n.v + 1)
	return n.chunks - (hi - lo), lo, hi
}

func sizeScatterAllgather(n node) size {
	bundles, scattered := 0, 0
	for i := range binomialDegree(n.v, n.hosts) {
		lo, hi := n.scattered(binomialChild(n.v, n.hosts, i))
		bundles += count(hi > lo)
		scattered += hi - lo
	}
	passed, _, _ := n.passes()
	acts := scattered + passed + n.chunks*n.slaves()
	switch {
	case n.isRoot():
		return size{rules: count(acts > 0), slots: 1, acts: acts}
	case n.slaves() > 0:
		passed = n.chunks
	}
	return size{rules: bundles + passed, slots: n.chunks, acts: acts}
}

func fillScatterAllgather(n node, a arena) ir.Program {
	if n.isRoot() {
		return fillScatterAllgatherRoot(&n, a)
	}
	a.waitChunks(n.chunks)
	for i := range binomialDegree(n.v, n.hosts) {
		lo, hi := a.putPieces(&n, binomialChild(n.v, n.hosts, i))
		a.rule(a.span(lo, hi))
	}
	_, from, to := n.passes()
	n.eachRoundRing(func(k int) {
		if k < from || k >= to {
			a.put(ir.Chunk(k), n.master(n.v+1))
		}
		a.share(&n, k)
		a.rule(a.span(k, k+1))
	})
	return a.program(&n, 0, a.span(0, n.chunks))
}

// eachRoundRing calls f for all chunks in the order in which they go round the ring: first the
// chunks of the node's own piece, then the chunks of the piece before it, and so on. It takes time
// in proportion to the number of chunks, even if many pieces are empty.
func (n *node) eachRoundRing(f func(k int)) {
	lo, hi := n.pieces(n.v, n.v+1)
	for left := n.chunks; left > 0; {
		for k := lo; k < hi; k++ {
			f(k)
			left--
		}
		if lo == 0 {
			lo = n.chunks
		}
		v := n.pieceOf(lo - 1)
		lo, hi = n.pieces(v, v+1)
	}
}

// pieceOf returns the virtual rank whose piece has chunk k: the last i with ⌊iF/P⌋ ≤ k.
func (n *node) pieceOf(k int) int { return ((k+1)*n.hosts - 1) / n.chunks }

// putPieces puts the chunks lo … hi-1, which a child in the tree gets by the scatter, to that
// child.
func (a *arena) putPieces(n *node, child int) (lo, hi int) {
	lo, hi = n.scattered(child)
	start := len(a.acts)
	for k := lo; k < hi; k++ {
		a.put(ir.Chunk(k), n.master(child))
	}
	a.join(start)
	return lo, hi
}

func fillScatterAllgatherRoot(n *node, a arena) ir.Program {
	a.wait(ir.Enter)
	for i := range binomialDegree(0, n.hosts) {
		a.putPieces(n, binomialChild(0, n.hosts, i))
	}
	_, from, to := n.passes()
	n.eachRoundRing(func(k int) {
		if k < from || k >= to {
			a.put(ir.Chunk(k), n.master(1))
		}
	})
	for k := range n.chunks {
		a.share(n, k)
	}
	a.rule(a.span(0, 1))
	return a.program(n, 0, a.span(0, 1))
}
