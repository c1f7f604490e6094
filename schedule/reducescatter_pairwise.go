package schedule

import "github.com/schedgen/schedgen/ir"

// reduceScatterPairwise goes round, as alltoall/pairwise does. In round i a rank waits for the
// message of the round before, then puts its contribution to the block of the rank i after it. The
// contributions to its own block come from the rank just before it down to rank 0. It folds each on
// the left of what it has. After rank 0 comes the last rank, and so on downwards. The rank folds
// these contributions separately and joins the two results at the end, so contributions stay in the
// order of the ranks.
func reduceScatterPairwise() Algorithm {
	return Algorithm{
		Name:       "reduce-scatter/pairwise",
		Collective: ReduceScatter,
		InPlace:    true,
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

// pairwise writes the rounds of a master. In each round the master gets one partial result of the
// algorithm for each rank of its host and makes another. The round that brings the first partial
// results that it folds separately makes none.
func (a *arena) pairwise(n *node, c *layer) {
	have := a.contribution(n, c, n.hosts == 1)
	if n.hosts == 1 {
		return
	}
	a.hold(n, c, have)
	base, each := n.ofHost(n.v), n.slaves()+1
	above := -1 // the first of the current partial results of the ranks above
	for d := 1; d <= n.hosts; d++ {
		if d < n.hosts {
			a.putPair(n, c, d)
		}
		came := n.pairwiseAt(n.v, d-1)
		switch {
		case d == 1: // nothing has come
		case d-1 == n.v+1: // from the last rank
			above = came
			if d == n.hosts {
				a.foldPair(n, c, base, came, above, d == n.hosts)
			}
		default:
			a.foldPair(n, c, base, came, above, d == n.hosts)
			if above >= 0 {
				above = came + each
			}
		}
	}
}

// putPair writes the rule that puts contributions to the blocks of the host d after, when the
// message of the previous round has come.
func (a *arena) putPair(n *node, c *layer, d int) {
	to := n.after(n.v, d)
	from, first, at := a.begin(), len(a.acts), n.pairwiseAt(to, d)
	for g, end := c.span(parts{to, 1, 1}, 0); g < end; g++ {
		a.uses(from, a.now[g])
		a.acts = append(a.acts, ir.PutAs(a.now[g], n.master(to), c.value(n.ofHost(to), at)))
		at++
	}
	if d > 1 {
		a.wait(c.value(n.ofHost(n.v), n.pairwiseAt(n.v, d-1)))
	}
	a.join(first)
	a.end(from)
}

// foldPair writes the rule that folds the new partial results on the left of the current ones.
// These are of the ranks up to the own one, or of the ranks above if above is not negative. If last
// is true, the rule also joins both and makes the result.
func (a *arena) foldPair(n *node, c *layer, base, came, above int, last bool) {
	from := a.begin()
	g, end := c.span(parts{n.v, 1, 1}, 0)
	each := end - g
	for i := 0; g < end; g, i = g+1, i+1 {
		theirs, made := c.value(base, came+i), c.value(base, came+each+i)
		if last {
			made = ir.Chunk(c.chunk(g))
		}
		a.uses(from, theirs)
		switch {
		case above < 0:
			a.uses(from, a.now[g])
			a.fold(made, theirs, a.now[g])
			a.now[g] = made
		case !last:
			a.uses(from, c.value(base, above+i))
			a.fold(made, theirs, c.value(base, above+i))
		case above == came:
			a.uses(from, a.now[g])
			a.fold(made, a.now[g], theirs)
		default:
			a.uses(from, a.now[g])
			a.uses(from, c.value(base, above+i))
			a.fold(made, a.now[g], theirs, c.value(base, above+i))
		}
	}
	a.end(from)
}

// pairwiseAt returns the first partial result that v gets in round d.
func (l *layout) pairwiseAt(v, d int) int {
	rounds := 2 * (d - 1)
	if d > v+1 {
		rounds-- // round v+1 makes none
	}
	return rounds * (l.slavesOf(v) + 1)
}
