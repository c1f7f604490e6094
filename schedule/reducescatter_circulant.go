package schedule

import "github.com/schedgen/schedgen/ir"

// reduceScatterCirculant is the reduce-scatter of J. L. Träff (2024). It takes ⌈log2 P⌉ rounds of
// one message a rank, and every rank sends P-1 blocks. Both are the minimum, for every P. A rank
// has a partial result of each block; R[i] belongs to the block i after its own. In a round, s'
// partial results are left. The rank puts the upper half, R[s] … R[s'-1] with s = ⌈s'/2⌉, to the
// rank s after it, and folds what it gets into R[0] … . So contributions are folded in a rotated
// order of the ranks, and the operation must commute.
func reduceScatterCirculant() Algorithm {
	return Algorithm{
		Name:       "reduce-scatter/circulant",
		Collective: ReduceScatter,
		InPlace:    true,
		Paper:      "Träff 2024",
		Summary:    "round i: put the upper half of the partial results that remain to the rank as far after, fold the lower half",
		Messages:   "F·P⌈log2 P⌉ puts of P-1 blocks a rank",
		Params:     unrootedParams(),
		write:      writeReduceScatterCirculant,
	}
}

func writeReduceScatterCirculant(n *node, a *arena) ir.Program {
	for f := range n.chunks {
		c := n.ofBlocks(ofBlocks, f)
		if !n.isMaster() {
			a.contributeTo(n, &c)
			continue
		}
		a.circulate(n, &c)
		a.scatterOnHost(n, f)
	}
	return a.foldedProgram(n, n.rank*n.chunks, n.chunks)
}

// scatterOnHost writes a rule by which a master puts all results to its slaves at once.
func (a *arena) scatterOnHost(n *node, f int) {
	from := a.begin()
	for i := range n.slaves() {
		a.uses(from, n.block(n.slave(i), f))
		a.put(n.block(n.slave(i), f), n.slave(i))
	}
	a.end(from)
}

// circulate writes the rounds of a master, after which it has the results of its own piece.
func (a *arena) circulate(n *node, c *layer) {
	have := a.contribution(n, c, n.hosts == 1)
	if n.hosts == 1 {
		return
	}
	a.hold(n, c, have)
	for left := n.hosts; left > 1; {
		skip := (left + 1) / 2
		to := n.after(n.v, skip)
		a.putParts(c, parts{to, 1, left - skip}, n.master(to), n.ofHost(to), c.circulated(to, left))
		a.foldParts(c, parts{n.v, 1, left - skip}, n.ofHost(n.v), c.circulated(n.v, left), true, skip == 1)
		left = skip
	}
}

// circulated returns how many partial results of the algorithm v has before the round in which left
// pieces are left.
func (c *layer) circulated(v, left int) (values int) {
	for s := c.pieces; s > left; s = (s + 1) / 2 {
		values += 2 * c.size(parts{v, 1, s / 2})
	}
	return values
}
