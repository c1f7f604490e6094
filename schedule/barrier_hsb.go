package schedule

import "github.com/schedgen/schedgen/ir"

// hsb is the hierarchical shared memory barrier (paper 003, §4.2). Arrivals climb a tree of fan
// f_in to node 0, and the release descends a tree of fan f_out. Both trees have the shape of a
// heap: the children of i are i·f+1 … i·f+f.
//
// A heap is filled from the left, so the child with the lowest number has the largest sub-tree and
// is released first. In LogGP backwards is never shorter and up to 21 % longer. Slaves release no
// rank, so they come after the children (doc.go, Order).
//
// The signals of a rank are the arrivals of its children in the gather tree, in the order of their
// ranks, and then its release.
func hsb() Algorithm {
	return Algorithm{
		Name:       "barrier/hsb",
		Collective: Barrier,
		Paper:      "003 §4.2",
		Summary:    "gather up a fan-in tree, release down a fan-out tree",
		Messages:   "2(P-1)",
		Params:     []string{"fan-in", "fan-out", "hosts"},
		size:       sizeHsb,
		fill:       fillHsb,
		slaves:     barrierSlaves,
	}
}

// heapDegree returns how many children node v has in a heap-shaped tree of a group with the given
// fan. The children are v·fan+1 and following.
func heapDegree(v, group, fan int) int { return max(0, min(fan, group-1-v*fan)) }

func sizeHsb(n node) size {
	in, out := heapDegree(n.v, n.hosts, n.fanIn), heapDegree(n.v, n.hosts, n.fanOut)
	freed := out + n.slaves()
	up := count(!n.isRoot())
	return size{rules: up + count(freed > 0), slots: 1 + n.slaves() + in + up, acts: up + freed}
}

func fillHsb(n node, a arena) ir.Program {
	a.arrive(&n)
	in := heapDegree(n.v, n.hosts, n.fanIn)
	a.waitSignals(n.slaves(), n.slaves()+in)
	all := a.span(0, len(a.slots))
	if n.isRoot() {
		a.releaseTree(&n, all)
		return a.program(&n, len(all)-1, a.arrived())
	}
	a.wait(n.signal(n.v, in))
	released := a.span(len(all), len(a.slots))
	parent := (n.v - 1) / n.fanIn
	a.put(n.signal(parent, (n.v-1)%n.fanIn), n.master(parent))
	a.rule(all)
	a.releaseTree(&n, released)
	return a.program(&n, len(all), released)
}

// releaseTree releases the children in the fan-out tree and the slaves.
func (a *arena) releaseTree(n *node, when []ir.Slot) {
	for i := range heapDegree(n.v, n.hosts, n.fanOut) {
		child := n.v*n.fanOut + 1 + i
		a.put(n.signal(child, heapDegree(child, n.hosts, n.fanIn)), n.master(child))
	}
	a.release(n)
	a.rule(when)
}
