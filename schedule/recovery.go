package schedule

import (
	"slices"

	"github.com/schedgen/schedgen/ir"
)

// Recovery of a multicast beside which a chain brings everything (paper 000, §2).
// Only masters take part in it: a master puts every chunk to its slaves.
//
// A rank reports to its predecessor in the chain, which puts to it what it does not
// have. What the multicast has passed over it asks its predecessor for, and last of
// all the root. The root's successor asks the last rank first, which has nobody else
// to answer, as the root's link is busy with the multicast.

// peersOfChain is how many ranks the recovery of a master in the chain names.
func peersOfChain(n *node) int {
	return count(n.v > 0) + count(n.v > 0 && n.hosts > 2) + chainDegree(n.v, n.hosts)
}

// recoverAlong writes the recovery of a master in the chain.
func (a *arena) recoverAlong(n *node) {
	if !n.isRoot() {
		if n.v > 1 {
			a.peer(n.master(n.v - 1))
		} else if n.hosts > 2 {
			a.peer(n.master(n.hosts - 1))
		}
		a.peer(n.root)
		a.made.Ask = a.peersFrom(0)
		a.made.Reports, a.made.ReportTo = true, int32(n.master(n.v-1))
	}
	if from := len(a.peers); chainDegree(n.v, n.hosts) > 0 {
		a.peer(n.master(n.v + 1))
		a.made.ReportFrom = a.peersFrom(from)
	}
}

// Recovery of a multicast beside which a binomial tree brings everything (paper 000, §2.2). As in
// the chain, only masters take part: a rank reports to its parent, which puts to it what it does not
// have, and asks whom it asks in a tree of acknowledgements, see below.

// peersOfTree is how many ranks the recovery of a master in the tree names.
func peersOfTree(n *node) int {
	children := binomialDegree(n.v, n.hosts)
	if n.isRoot() {
		return children
	}
	return children + 1 + count(askFirst(n.v, n.hosts) != 0)
}

// recoverDown writes the recovery of a master in the tree.
func (a *arena) recoverDown(n *node) {
	if !n.isRoot() {
		a.askFor(n)
		a.made.Reports, a.made.ReportTo = true, int32(n.master(binomialParent(n.v)))
	}
	a.hearFrom(n, len(a.peers))
}

// Recovery of a multicast whose acknowledgements climb the binomial tree (paper
// 002, §3). The root's slaves take no part in it: the root puts every chunk to
// them, so they lack none, and nobody waits until they have heard the multicast.
//
// A rank that sees that the multicast has passed over a chunk first asks who
// most likely has it and has a link to spare: its parent, and a slave its
// master, which is on its own host. The children of the root would all ask the
// root, whose link the multicast keeps busy, so each asks a rank below another
// one of them, see askBeside. Last of all everybody asks the root: it has every
// chunk, whatever has been lost.
//
// How far the multicast has come is told along the tree that acknowledgements
// take. Acknowledgements are sent twice while losses are seen: each is the last
// that its rank sends for a while, so nothing later tells of its loss.

// peersOfRecovery is how many ranks the recovery of a node names.
func peersOfRecovery(n *node) int {
	children := binomialDegree(n.v, n.hosts)
	switch {
	case n.isRoot() && !n.isMaster():
		return 0
	case n.isRoot():
		return children
	case !n.isMaster():
		return 2
	}
	ask := 1 + count(askFirst(n.v, n.hosts) != 0)
	return ask + children + n.slaves()
}

// askFirst returns whom v ≥ 1 asks first, 0 if there is nobody but the root.
func askFirst(v, n int) int {
	if parent := binomialParent(v); parent != 0 {
		return parent
	}
	return askBeside(v, n)
}

// askBeside returns whom a child of the root asks in place of the root: of the
// next child's sub-tree the lowest leaf, which nobody else asks, or that child
// if it is a leaf itself; the last child asks the first one. So the way from
// one to whom it asks, to whom that asks and so on leads through the sub-trees
// of all children before it comes back. Two that ask each other for what both
// have lost would both have to ask again; here all on the way must have lost it.
func askBeside(v, n int) int {
	switch next := 2 * v; {
	case next+1 < n:
		return next + 1
	case next < n:
		return next
	case v == 1:
		return 0
	}
	return 1
}

// recoverAs writes the recovery of a node. ack is the put of its
// acknowledgement; the root has none.
func (a *arena) recoverAs(n *node, ack []ir.Action) {
	a.made.Twice = ack
	if !n.isRoot() {
		a.askFor(n)
		a.made.Reports, a.made.ReportTo = true, ack[0].To
	}
	if n.isMaster() {
		a.hearReports(n)
	}
}

// askFor writes whom a node asks that is not on the root's host.
func (a *arena) askFor(n *node) {
	if !n.isMaster() {
		a.peer(n.master(n.v))
	} else if first := askFirst(n.v, n.hosts); first != 0 {
		a.peer(n.master(first))
	}
	a.peer(n.root)
	a.made.Ask = a.peersFrom(0)
}

// hearReports writes the ranks that acknowledge to a master and take part.
func (a *arena) hearReports(n *node) {
	from := len(a.peers)
	for i := 0; i < n.slaves() && !n.isRoot(); i++ {
		a.peer(n.slave(i))
	}
	a.hearFrom(n, from)
}

// hearFrom writes the ranks that report to a master: those written from the given one on, and its
// children.
func (a *arena) hearFrom(n *node, from int) {
	for j := range binomialDegree(n.v, n.hosts) {
		a.peer(n.master(n.v + 1<<j))
	}
	slices.Sort(a.peers[from:])
	a.made.ReportFrom = a.peersFrom(from)
}

// peersFrom returns the ranks written from the given one on, nil for none.
func (a *arena) peersFrom(from int) []int32 {
	if from == len(a.peers) {
		return nil
	}
	return a.peers[from:len(a.peers):len(a.peers)]
}

// peer writes one rank.
func (a *arena) peer(rank int) { a.peers = append(a.peers, int32(rank)) }
