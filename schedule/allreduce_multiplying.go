package schedule

import "github.com/schedgen/schedgen/ir"

// allreduceMultiplying is recursive multiplying as in MPICH. k^m ranks take part, where k^m is the
// largest power of k up to P. In round i each rank exchanges partial results with the k-1 ranks
// whose numbers differ from its own only in digit i. All of them fold the k partial results in the
// order of that digit. So all ranks fold the same tree, and each sends k-1 messages in each of
// log_k P rounds.
//
// Rank e ≥ k^m puts its contribution to rank e mod k^m before the rounds and gets the result at the
// end. Then contributions are not folded in the order of the ranks.
func allreduceMultiplying() Algorithm {
	return Algorithm{
		Name:       "allreduce/multiplying",
		Collective: Allreduce,
		Paper:      "MPICH",
		Summary:    "round i: exchange partial results with the degree-1 ranks whose numbers differ in digit i, and fold them",
		Messages:   "F(p·(degree-1)·log p + 2(P-p)) puts, p the largest power of degree up to P",
		Params:     []string{"chunks", "degree", "hosts"},
		degree:     3,
		ordered:    func(group, degree int) bool { return powerUpTo(group, degree) == group },
		write:      writeAllreduceMultiplying,
	}
}

// powerUpTo returns the largest power of degree that is at most n.
func powerUpTo(n, degree int) int {
	p := 1
	for p <= n/degree {
		p *= degree
	}
	return p
}

func writeAllreduceMultiplying(n *node, a *arena) ir.Program {
	p := powerUpTo(n.hosts, n.degree)
	for f := range n.chunks {
		c := n.ofChunk(f)
		switch {
		case !n.isMaster():
			a.contributeTo(n, &c)
			continue
		case n.v >= p:
			to := n.v % p
			a.putPartial(n, &c, a.contribution(n, &c, false), n.master(to), n.ofHost(to)+n.v/p-1)
		default:
			a.multiply(n, &c, p)
		}
		from := a.begin()
		a.uses(from, ir.Chunk(f))
		for v := n.v + p; n.v < p && v < n.hosts; v += p {
			a.put(ir.Chunk(f), n.master(v))
		}
		a.share(n, f)
		a.end(from)
	}
	return a.foldedProgram(n, 0, n.chunks)
}

// beyond returns how many hosts put their contributions to v. v is one of the p hosts that take
// part.
func (l *layout) beyond(v, p int) int { return (l.hosts - 1 - v) / p }

// ofBeyond returns how many partial results v has before the first round. v is one of the p hosts
// that take part.
func (l *layout) ofBeyond(v, p int) int {
	more := l.beyond(v, p)
	return l.ofHost(v) + more + count(more > 0 && p > 1)
}

// multiply writes the folds and rounds of a master that takes part.
func (a *arena) multiply(n *node, c *layer, p int) {
	f, have := c.chunk(0), a.contribution(n, c, n.hosts == 1)
	if more := n.beyond(n.v, p); more > 0 {
		first := n.ofHost(n.v)
		made := first + more
		if p == 1 {
			made = result
		}
		a.foldRow(n, f, made, have, 0, first, more)
		have = made
	}
	k := n.degree
	for round, stride := 0, 1; stride < p; round, stride = round+1, stride*k {
		from, digit := a.begin(), n.v/stride%k
		a.uses(from, n.slot(have, f))
		for d := 1; d < k; d++ {
			theirs := (digit + d) % k
			to := n.v + (theirs-digit)*stride
			at := n.ofBeyond(to, p) + round*k + digit - count(digit > theirs)
			a.acts = append(a.acts, ir.PutAs(n.slot(have, f), n.master(to), n.partial(at, f)))
		}
		a.end(from)
		first := n.ofBeyond(n.v, p) + round*k
		made := first + k - 1
		if stride*k == p {
			made = result
		}
		a.foldRow(n, f, made, have, digit, first, k-1)
		have = made
	}
}

// foldRow writes the fold of the partial results first … first+others-1 with the rank's own, which
// is operand number at.
func (a *arena) foldRow(n *node, f, made, own, at, first, others int) {
	from := a.begin()
	a.uses(from, n.slot(own, f))
	for i := range others + 1 {
		operand := own
		if i != at {
			operand = first + i - count(i > at)
			a.uses(from, n.slot(operand, f))
		}
		a.acts = append(a.acts, ir.Action{Op: ir.Fold, Joins: i > 0, Slot: n.slot(operand, f), As: n.slot(made, f)})
	}
	a.end(from)
}
