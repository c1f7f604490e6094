package schedule

import "github.com/schedgen/schedgen/ir"

// allreduceLinear takes one round. Every rank puts its contribution to all others, first to the
// ranks that follow it. Each rank then folds all contributions by the tree of doubling.
func allreduceLinear() Algorithm {
	return Algorithm{
		Name:       "allreduce/linear",
		Collective: Allreduce,
		Paper:      "ours",
		Summary:    "every rank puts its contribution to all others, and each folds them all",
		Messages:   "F·P(P-1) puts",
		Params:     unrootedParams(),
		RankOrder:  true,
		Tree:       TreeOfDoubling,
		write:      writeAllreduceLinear,
	}
}

func writeAllreduceLinear(n *node, a *arena) ir.Program {
	for f := range n.chunks {
		c := n.ofChunk(f)
		if !n.isMaster() {
			a.contributeTo(n, &c)
			continue
		}
		have := a.contribution(n, &c, n.hosts == 1)
		if n.hosts > 1 {
			from := a.begin()
			a.uses(from, n.slot(have, f))
			for d := 1; d < n.hosts; d++ {
				to := n.after(n.v, d)
				a.acts = append(a.acts, ir.PutAs(n.slot(have, f), n.master(to), n.partial(n.fromHost(n.v, to), f)))
			}
			a.end(from)
			a.foldHosts(n, &c, have)
		}
		from := a.begin()
		a.uses(from, ir.Chunk(f))
		a.share(n, f)
		a.end(from)
	}
	return a.foldedProgram(n, 0, n.chunks)
}

// fromHost returns the index, at virtual rank to, of the partial result that virtual rank v puts to
// it when all hosts put one.
func (n *node) fromHost(v, to int) int {
	if v > to {
		v--
	}
	return n.ofHost(to) + v
}

// foldHosts writes the folds by which a master gets the result from the contributions that all
// other hosts have put to it. have is the partial result of its own host.
func (a *arena) foldHosts(n *node, c *layer, have int) {
	first := n.ofHost(n.v)
	t := foldTree{node: n, arena: a, layer: c, at: n.v, own: have, first: first, next: first + n.hosts - 1}
	t.fold(n.hosts, true)
}
