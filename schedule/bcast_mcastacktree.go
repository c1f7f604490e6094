package schedule

import (
	"math/bits"

	"github.com/schedgen/schedgen/ir"
)

// mcastAckTree is the reliable multicast of paper 002, §3. The root multicasts, and
// acknowledgements climb the binomial tree. A rank acknowledges to its parent when it has every
// chunk and the acknowledgement of every child. So the ACK of a rank covers its whole sub-tree, and
// the root is done only when every rank has the message.
//
// Two repairs make up for lost multicasts (§3.3.4). First, a rank that has the message and misses
// the ACK of its child of level j puts the message to it after j+1 base timeouts, because the ACK
// of a whole sub-tree takes j+1 cycles; one that P cuts takes fewer. Second, a rank that gets the
// ACK of a child but lacks a chunk asks that child for it at once. The ask is a signal, and the
// child has a rule that answers it. Children of the root need no such rule.
//
// A rank acknowledges to one other rank, so there is little to order. The root multicasts before it
// puts to its slaves, which is 1.4 times as fast on average in LogGP as the other way round
// (doc.go, Order). Each repair is a rule of its own for one child. It is due according to the
// child's level, the smallest sub-tree first.
//
// A rank that learns of a chunk that the multicast has not brought asks for it. That costs one
// chunk, where a repair costs the message; see recovery.go.
//
// The signals of a rank are the ACKs of its slaves, then the ACKs of its children of levels j = 0,
// 1, …, then one ask a chunk if its parent may ask.
func mcastAckTree() Algorithm {
	return Algorithm{
		Name:       "bcast/mcast-acktree",
		Collective: Bcast,
		Paper:      "002 §3",
		Summary:    "unreliable multicast; cumulative ACKs climb a binomial tree, the root waits for them",
		Messages:   "F mcasts, P-1 ACKs",
		Params:     bcastParams(),
		acked:      true,
		recovers:   true,
		size:       sizeAckTree,
		fill:       fillAckTree,
		slaves:     ackedSlaves,
	}
}

// asked reports whether the parent of v may ask v for a chunk.
func asked(v int) bool { return v != 0 && binomialParent(v) != 0 }

func sizeAckTree(n node) size {
	children, slaves := binomialDegree(n.v, n.hosts), n.slaves()
	if n.isRoot() {
		return size{
			rules: count(n.ranks > 1) + children,
			slots: 1 + slaves + children,
			acts:  n.chunks * (count(n.ranks > 1) + slaves + children),
			peers: peersOfRecovery(&n),
		}
	}
	asks := n.chunks * count(asked(n.v))
	return size{
		rules: n.chunks*count(slaves > 0) + 1 + asks + children + n.chunks*children,
		slots: n.chunks + slaves + children + 2*asks,
		acts:  n.chunks*slaves + 1 + asks + 2*n.chunks*children,
		peers: peersOfRecovery(&n),
	}
}

func fillAckTree(n node, a arena) ir.Program {
	if n.isRoot() {
		return fillAckRoot(&n, a)
	}
	children := binomialDegree(n.v, n.hosts)
	acks := n.slaves() + children
	asks := n.chunks * count(asked(n.v))
	a.waitChunks(n.chunks)
	a.waitSignals(0, acks)
	for k := range asks {
		a.wait(ir.Chunk(k))
		a.wait(ir.Signal(acks + k))
	}
	done := a.span(0, n.chunks+acks)
	if n.slaves() > 0 {
		a.shareEach(&n, done)
	}
	a.put(n.signal(binomialParent(n.v), bits.TrailingZeros(uint(n.v))), n.master(binomialParent(n.v)))
	a.recoverAs(&n, a.last(1))
	a.rule(done)
	a.answerAsks(&n, asks, len(done))
	a.repairChildren(&n, children, done[:n.chunks:n.chunks])
	a.askChildren(&n, children, done)
	return a.program(&n, acks+asks, done)
}

func fillAckRoot(n *node, a arena) ir.Program {
	children := binomialDegree(n.v, n.hosts)
	acks := n.slaves() + children
	a.wait(ir.Enter)
	a.waitSignals(0, acks)
	if n.ranks > 1 {
		a.mcastChunks(n.chunks)
		for k := range n.chunks {
			a.share(n, k)
		}
		a.rule(a.span(0, 1))
	}
	a.repairChildren(n, children, a.span(0, 1))
	a.recoverAs(n, nil)
	return a.program(n, acks, a.span(0, 1+acks))
}

// shareEach puts each chunk to the slaves when it comes. slots starts with the chunks.
func (a *arena) shareEach(n *node, slots []ir.Slot) {
	for k := range n.chunks {
		a.share(n, k)
		a.rule(slots[k : k+1 : k+1])
	}
}

// answerAsks puts each chunk to the parent when it asks for it. The pairs of chunk and ask are in
// the arena from slot first on.
func (a *arena) answerAsks(n *node, asks, first int) {
	parent := n.master(binomialParent(n.v))
	for k := range asks {
		a.put(ir.Chunk(k), parent)
		a.rule(a.span(first+2*k, first+2*k+2))
	}
}

// repairChildren puts all chunks to each child whose ACK is overdue.
func (a *arena) repairChildren(n *node, children int, when []ir.Slot) {
	for j := range children {
		a.putChunks(n.chunks, n.master(n.v+1<<j))
		a.repair(when, n.signal(n.v, j), j+1)
	}
}

// askChildren asks each child that has acknowledged for each chunk that is missing here. slots
// holds the chunks and the acknowledgements.
func (a *arena) askChildren(n *node, children int, slots []ir.Slot) {
	for j := range children {
		child := n.v + 1<<j
		to, asks := n.master(child), n.slavesOf(child)+binomialDegree(child, n.hosts)
		ack := n.chunks + n.slaves() + j
		when := slots[ack : ack+1 : ack+1]
		for k := range n.chunks {
			a.put(ir.Signal(asks+k), to)
			a.repair(when, ir.Chunk(k), 0)
		}
	}
}
