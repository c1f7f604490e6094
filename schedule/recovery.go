package schedule

import (
	"slices"

	"github.com/schedgen/schedgen/ir"
)

// Recovery of a multicast beside a chain that brings every chunk (paper 000, §2). Only masters take
// part, because a master puts every chunk to its slaves.
//
// A rank reports to its predecessor in the chain, which then puts only the chunks that the rank
// lacks. For chunks that the multicast has skipped, the rank asks its predecessor and at last the
// root. The root's successor asks the last rank first. The root's link is busy with the multicast,
// and the last rank answers no other requests.

// peersOfChain returns how many ranks the recovery of a master in the chain names.
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

// Recovery of a multicast beside a binomial tree that brings every chunk (paper 000, §2.2). As in
// the chain, only masters take part. A rank reports to its parent, which then puts only the chunks
// that the rank lacks. It asks the same ranks as in a tree of acknowledgements, see below.

// peersOfTree returns how many ranks the recovery of a master in the tree names.
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

// Recovery of a multicast whose acknowledgements climb the binomial tree (paper 002, §3). The
// root's slaves take no part. The root puts every chunk to them, so they lack none, and no rank
// waits until they have received the multicast.
//
// A rank that sees that the multicast has skipped a chunk first asks the rank that most likely has
// it and has a link to spare. That is its parent, or for a slave its master, which is on the same
// host. The children of the root would all ask the root, whose link is busy with the multicast. So
// each of them asks a rank below another child, see askBeside. At last every rank asks the root,
// which certainly has every chunk.
//
// Ranks report the progress of the multicast along the tree of acknowledgements. They send
// acknowledgements twice while they see losses. An acknowledgement is the last message of its rank
// for a while, so no later message would reveal its loss.

// peersOfRecovery returns how many ranks the recovery of a node names.
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

// askFirst returns the rank that v ≥ 1 asks first, or 0 if that is the root.
func askFirst(v, n int) int {
	if parent := binomialParent(v); parent != 0 {
		return parent
	}
	return askBeside(v, n)
}

// askBeside returns the rank that a child of the root asks in place of the root. That is the lowest
// leaf of the next child's sub-tree, which no other rank asks, or the next child itself if that is
// a leaf. The last child asks the first. So the path from a rank to the rank that it asks, and so
// on, leads through the sub-trees of all children before it returns. If two ranks asked each other
// for a chunk that both have lost, both would have to ask again. Here that happens only if all
// ranks on the path have lost it.
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

// recoverAs writes the recovery of a node. ack is the put of its acknowledgement. The root has
// none.
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

// askFor writes the ranks that a node asks. The node is not on the root's host.
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

// hearFrom writes the ranks that report to a master: the ranks already written from the given index
// on, and its children.
func (a *arena) hearFrom(n *node, from int) {
	for j := range binomialDegree(n.v, n.hosts) {
		a.peer(n.master(n.v + 1<<j))
	}
	slices.Sort(a.peers[from:])
	a.made.ReportFrom = a.peersFrom(from)
}

// peersFrom returns the ranks written from the given index on, or nil if there are none.
func (a *arena) peersFrom(from int) []int32 {
	if from == len(a.peers) {
		return nil
	}
	return a.peers[from:len(a.peers):len(a.peers)]
}

// peer writes one rank.
func (a *arena) peer(rank int) { a.peers = append(a.peers, int32(rank)) }
