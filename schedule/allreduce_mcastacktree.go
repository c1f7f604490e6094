package schedule

import (
	"math/bits"

	"github.com/schedgen/schedgen/ir"
)

// allreduceMcastAckTree is reduce/binomial to rank 0. Rank 0 then multicasts the result like the
// root of bcast/mcast-acktree, with the acknowledgements, repairs and requests of paper 002, §3.
func allreduceMcastAckTree() Algorithm {
	return Algorithm{
		Name:       "allreduce/mcast-acktree",
		Collective: Allreduce,
		Paper:      "002 §3, Thakur 2005 §4.4",
		Summary:    "a binomial tree folds up to rank 0, which multicasts the result; cumulative ACKs climb a binomial tree",
		Messages:   "F(P-1) puts, F mcasts, P-1 ACKs",
		Params:     unrootedParams(),
		InPlace:    true,
		RankOrder:  true,
		Tree:       TreeOfDoubling,
		acked:      true,
		recovers:   true,
		write:      writeAllreduceMcastAckTree,
	}
}

func writeAllreduceMcastAckTree(n *node, a *arena) ir.Program {
	for f := range n.chunks {
		c := n.ofChunk(f)
		a.climb(n, &c, 0)
		if n.isMaster() && n.isRoot() && n.ranks > 1 {
			from := a.begin()
			a.uses(from, ir.Chunk(f))
			a.acts = append(a.acts, ir.McastOf(ir.Chunk(f)))
			a.share(n, f)
			a.end(from)
		}
	}
	from := len(a.slots)
	a.waitChunks(n.chunks)
	if !n.isMaster() {
		done := a.span(from, len(a.slots))
		a.put(ir.Signal(n.slaveIndex()), n.master(n.v))
		a.recoverAs(n, a.last(1))
		a.rule(done)
		return a.program(n, 0, done)
	}
	children := binomialDegree(n.v, n.hosts)
	acks := n.slaves() + children
	a.waitSignals(0, acks)
	done := a.span(from, len(a.slots))
	chunks := done[:n.chunks:n.chunks]
	if n.isRoot() {
		a.repairChildren(n, children, chunks)
		a.recoverAs(n, nil)
		return a.program(n, acks, done)
	}
	if n.slaves() > 0 {
		a.shareEach(n, done)
	}
	parent := binomialParent(n.v)
	a.put(n.signal(parent, bits.TrailingZeros(uint(n.v))), n.master(parent))
	a.recoverAs(n, a.last(1))
	a.rule(done)
	asks, first := n.chunks*count(asked(n.v)), len(a.slots)
	for k := range asks {
		a.wait(ir.Chunk(k))
		a.wait(ir.Signal(acks + k))
	}
	a.answerAsks(n, asks, first)
	a.repairChildren(n, children, chunks)
	a.askChildren(n, children, done)
	return a.program(n, acks+asks, done)
}
