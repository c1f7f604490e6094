package schedule

import "github.com/schedgen/schedgen/ir"

// symmetric is the symmetric asynchronous broadcast (paper 004, §3). With p = P-1 destinations the
// root puts a different chunk to each of them, and each puts it to the p-1 others. The message
// crosses the root's link once, and every destination's link about once each way, whatever p is.
//
// The paper cuts the message into p pieces, and advises against p² fragments of a small message:
// "it is better to distribute the whole information in a single step during phase 1". So a message
// of one chunk is not passed on. The root puts it to every destination, and there is no phase 2.
// selection.Chunks knows the length and decides which messages are small enough. With any other
// number of chunks, chunk i belongs to destination i mod p.
//
// Destinations serve the others backwards along the ring, starting with their own predecessors. The
// root serves the destinations forwards, so each starts to put later than the one before. In any
// other order, the puts under way would meet at the same ranks. In LogGP forwards takes 4 % more
// time on average, and the order of the ranks 5 %. Either is faster for some P, by at most a tenth
// (doc.go, Order).
func symmetric() Algorithm {
	return Algorithm{
		Name:       "bcast/symmetric",
		Collective: Bcast,
		Paper:      "004 §3",
		Summary:    "the root scatters the chunks, every destination puts its own to all the others",
		Messages:   "F(P-1) puts; F = P-1 by default: (P-1)²",
		Params:     bcastParams(),
		chunks:     func(group int) int { return max(1, group-1) },
		size:       sizeSymmetric,
		fill:       fillSymmetric,
		slaves:     bcastSlaves,
	}
}

func sizeSymmetric(n node) size {
	dests := n.hosts - 1
	if n.isRoot() {
		each := count(dests > 0) // destinations that get a chunk from the root
		if n.chunks == 1 {
			each = dests
		}
		acts := n.chunks * (each + n.slaves())
		return size{rules: count(acts > 0), slots: 1, acts: acts}
	}
	if n.chunks == 1 {
		return size{rules: count(n.slaves() > 0), slots: 1, acts: n.slaves()}
	}
	own := (n.chunks - n.v + dests) / dests // chunks k with k mod dests = v-1
	acts := own*(dests-1) + n.chunks*n.slaves()
	z := size{rules: own * count(dests > 1), slots: n.chunks, acts: acts}
	if n.slaves() > 0 {
		z.rules = n.chunks
	}
	return z
}

func fillSymmetric(n node, a arena) ir.Program {
	dests := n.hosts - 1
	if n.isRoot() {
		return fillSymmetricRoot(&n, a, dests)
	}
	a.waitChunks(n.chunks)
	for k := range n.chunks {
		if n.chunks > 1 && k%dests == n.v-1 {
			a.scatter(&n, k, dests)
		}
		a.share(&n, k)
		a.rule(a.span(k, k+1))
	}
	return a.program(&n, 0, a.span(0, n.chunks))
}

func fillSymmetricRoot(n *node, a arena, dests int) ir.Program {
	a.wait(ir.Enter)
	switch {
	case n.chunks == 1:
		for v := range dests {
			a.put(ir.Chunk(0), n.master(1+v))
		}
	case dests > 0:
		for k := range n.chunks {
			a.put(ir.Chunk(k), n.master(1+k%dests))
		}
	}
	for k := range n.chunks {
		a.share(n, k)
	}
	a.rule(a.span(0, 1))
	return a.program(n, 0, a.span(0, 1))
}

// scatter puts chunk k to the other destinations, which are 1 … dests.
func (a *arena) scatter(n *node, k, dests int) {
	for i := range dests - 1 {
		a.put(ir.Chunk(k), n.master(1+(n.v-2-i+dests)%dests))
	}
}
