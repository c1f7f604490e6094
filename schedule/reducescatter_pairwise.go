package schedule

import "github.com/schedgen/schedgen/ir"

// reduceScatterPairwise goes round, as alltoall/pairwise does: in round i a rank puts its contribution
// to the block of the rank i after it, when what the round before brings has come. So a rank gets those
// to its own block from the ranks before it, downwards, and folds each on the left of what it has. After
// rank 0 comes the last one: from there on it folds those that come by themselves, and
// the two in the end, so that all stay in the order of the ranks.
func reduceScatterPairwise() Algorithm {
	return Algorithm{
		Name:       "reduce-scatter/pairwise",
		Collective: ReduceScatter,
		Paper:      "Thakur 2005 §4.3",
		Summary:    "round i: its part of a block to the rank i after, when that of the round before has come",
		Messages:   "F·P(P-1) puts",
		Params:     unrootedParams(),
		RankOrder:  true,
		write:      writeReduceScatterPairwise,
	}
}

func writeReduceScatterPairwise(n *node, a *arena) ir.Program {
	for f := range n.chunks {
		c := n.ofBlocks(ofBlocks, f)
		if !n.isMaster() {
			a.contributeTo(n, &c)
			continue
		}
		a.pairwise(n, &c)
		a.scatterOnHost(n, f)
	}
	return a.foldedProgram(n, n.rank*n.chunks, n.chunks)
}

// pairwise writes the rounds of a master. In each of them it gets, for each rank of its host, a partial result
// of the algorithm, and makes another one, but for the round that brings the first of those that it
// folds by themselves.
func (a *arena) pairwise(n *node, c *layer) {
	have := a.contribution(n, c, n.hosts == 1)
	if n.hosts == 1 {
		return
	}
	a.hold(n, c, have)
	base, each := n.ofHost(n.v), n.slaves()+1
	came := -1  // the first partial result that the round before has brought
	above := -1 // the first of those of the ranks above
	for d := 1; d < n.hosts; d++ {
		to := n.after(n.v, d)
		from, first := a.begin(), len(a.acts)
		at := n.pairwiseAt(to, d)
		for g, end := c.span(parts{to, 1, 1}, 0); g < end; g++ {
			a.uses(from, a.now[g])
			a.acts = append(a.acts, ir.PutAs(a.now[g], n.master(to), c.value(n.ofHost(to), at)))
			at++
		}
		if came >= 0 {
			a.wait(c.value(base, came))
		}
		a.join(first)
		a.end(from)

		came = n.pairwiseAt(n.v, d)
		if d == n.v+1 { // of the last rank
			above = came
			if d < n.hosts-1 {
				continue
			}
		}
		from = a.begin()
		g, end := c.span(parts{n.v, 1, 1}, 0)
		for i := 0; g < end; g, i = g+1, i+1 {
			theirs, made := c.value(base, came+i), c.value(base, came+each+i)
			a.uses(from, theirs)
			switch last := d == n.hosts-1; {
			case d <= n.v:
				if last {
					made = ir.Chunk(c.chunk(g))
				}
				a.uses(from, a.now[g])
				a.fold(made, theirs, a.now[g])
				a.now[g] = made
			case !last:
				a.uses(from, c.value(base, above+i))
				a.fold(made, theirs, c.value(base, above+i))
			case above == came:
				a.uses(from, a.now[g])
				a.fold(ir.Chunk(c.chunk(g)), a.now[g], theirs)
			default:
				a.uses(from, a.now[g])
				a.uses(from, c.value(base, above+i))
				a.fold(ir.Chunk(c.chunk(g)), a.now[g], theirs, c.value(base, above+i))
			}
		}
		a.end(from)
		if d > n.v {
			above = came + each
		}
	}
}

// pairwiseAt returns the first partial result that v gets in round d.
func (l *layout) pairwiseAt(v, d int) int {
	rounds := 2 * (d - 1)
	if d > v+1 {
		rounds-- // the round v+1 makes none
	}
	return rounds * (l.slavesOf(v) + 1)
}
