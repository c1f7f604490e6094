package schedule

import "github.com/schedgen/schedgen/ir"

// allreduceRing cuts the vector into P pieces (P. Patarasuk and X. Yuan, 2009). The partial result
// of piece i starts at rank i+1 and goes round the ring, and each rank folds its contribution into
// it. At rank i it is the result, which then goes round the ring once more. Every link carries
// 2(P-1) pieces, the minimum, and a rank talks only to its neighbours.
//
// Each piece is folded in a rotated order of the ranks, so the operation must commute. The chunks
// of a piece follow each other.
func allreduceRing() Algorithm {
	return Algorithm{
		Name:       "allreduce/ring",
		Collective: Allreduce,
		Paper:      "Patarasuk 2009",
		Summary:    "P pieces go round the ring and are folded on their way; their results go round once more",
		Messages:   "2F(P-1) puts",
		Params:     unrootedParams(),
		InPlace:    true,
		chunks:     func(group int) int { return group },
		write:      writeAllreduceRing,
	}
}

func writeAllreduceRing(n *node, a *arena) ir.Program {
	if n.isMaster() && n.hosts > 1 {
		for j := range n.layers(n.hosts) {
			c := n.ofVector(n.hosts, j)
			a.ring(n, &c)
		}
		return a.foldedProgram(n, 0, n.chunks)
	}
	for f := range n.chunks {
		c := n.ofChunk(f)
		if n.isMaster() {
			a.contribution(n, &c, true)
			a.shareResult(n, f)
		} else {
			a.contributeTo(n, &c)
		}
	}
	return a.foldedProgram(n, 0, n.chunks)
}

// ring writes the program of a master for one layer. The master puts pieces in the order v-1, v-2
// …, v+1, and gets v-2, v-3 …, v and then results in the order v-1, v-2 …, v+1.
func (a *arena) ring(n *node, c *layer) {
	next, base := n.after(n.v, 1), n.ofHost(n.v)
	put, got := 0, 0 // pieces that are not empty
	for d := 1; d <= n.hosts; d++ {
		g, end := c.span(parts{n.after(n.v, -d), 1, 1}, 0)
		if g == end {
			continue
		}
		k := c.chunk(g)
		one := n.ofChunk(k)
		have := n.slot(a.contribution(n, &one, false), k)
		made := c.value(base, 2*got+1)
		switch d {
		case 1:
			made = have
		case n.hosts:
			made = ir.Chunk(k)
			fallthrough
		default:
			a.foldTwo(made, c.value(base, 2*got), have)
			got++
		}
		if d < n.hosts {
			a.putAs(made, n.master(next), c.value(n.ofHost(next), 2*put))
			put++
		}
	}
	for d := range n.hosts {
		g, end := c.span(parts{n.after(n.v, -d), 1, 1}, 0)
		if g == end {
			continue
		}
		k := c.chunk(g)
		from := a.begin()
		a.uses(from, ir.Chunk(k))
		if d < n.hosts-1 {
			a.put(ir.Chunk(k), n.master(next))
		}
		a.share(n, k)
		a.end(from)
	}
}
