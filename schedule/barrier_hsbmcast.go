package schedule

import "github.com/schedgen/schedgen/ir"

// hsbMcast is barrier/hsb with a multicast as release. Arrivals climb a tree of fan f_in to node 0
// (paper 003, §4.2). Node 0 then multicasts the release, a chunk without bytes, to all ranks at
// once (paper 000, §2, does so with a broadcast). A release along a tree costs P-1 puts, and this
// one costs one send.
//
// The tree of fan f_out serves ranks that have lost the multicast. A rank that has announced its
// arrival and hears nothing for a base timeout asks the rank above it in that tree. That rank
// answers as soon as it is released itself. No rank acknowledges the release: a rank that does not
// ask has it. A rank that has returned from the barrier knows that the barrier is over, so it
// answers as long as another rank may ask.
//
// In the tree of f_out, node 0 has one child, node 1, and the other nodes are below node 1 as in a
// heap. Node 0 knows only by the arrivals of all its children that all ranks have entered. So its
// answer waits for all of them again, and one child keeps the number of such answers at one.
//
// As in barrier/hsb, a master releases its slaves, and slaves receive no multicast.
//
// The signals of a rank are the arrivals of its slaves, then the arrivals of its children in the
// gather tree in the order of their ranks, then the requests of its children in the tree of f_out.
func hsbMcast() Algorithm {
	return Algorithm{
		Name:       "barrier/hsb-mcast",
		Collective: Barrier,
		Paper:      "000 §2, 003 §4.2",
		Summary:    "gather up a fan-in tree, release by one unreliable multicast; ranks that lost it ask up a fan-out tree",
		Messages:   "1 mcast, P-1 puts",
		Params:     []string{"fan-in", "fan-out", "hosts"},
		tells:      true,
		size:       sizeHsbMcast,
		fill:       fillHsbMcast,
		slaves:     barrierSlaves,
	}
}

// askedBy returns how many nodes ask node v in a group with the given fan. They are askAt(v, fan)
// and following.
func askedBy(v, group, fan int) int {
	if v == 0 {
		return count(group > 1)
	}
	return heapDegree(v-1, group-1, fan)
}

// askAt returns the first node that asks node v.
func askAt(v, fan int) int {
	if v == 0 {
		return 1
	}
	return (v-1)*fan + 2
}

// askAbove returns the node that node v ≥ 1 asks.
func askAbove(v, fan int) int {
	if v == 1 {
		return 0
	}
	return (v-2)/fan + 1
}

func sizeHsbMcast(n node) size {
	in, asks := heapDegree(n.v, n.hosts, n.fanIn), askedBy(n.v, n.hosts, n.fanOut)
	slaves := n.slaves()
	if n.isRoot() {
		acts := count(n.hosts > 1) + slaves
		return size{rules: count(acts > 0) + asks, slots: 1 + slaves + in + asks, acts: acts + asks}
	}
	return size{
		rules: 2 + count(slaves > 0) + asks,
		slots: 1 + slaves + in + 1 + 2*asks,
		acts:  2 + slaves + asks,
	}
}

func fillHsbMcast(n node, a arena) ir.Program {
	in, asks := heapDegree(n.v, n.hosts, n.fanIn), askedBy(n.v, n.hosts, n.fanOut)
	arrivals := n.slaves() + in
	a.arrive(&n)
	a.waitSignals(n.slaves(), arrivals)
	all := a.span(0, len(a.slots))
	if n.isRoot() {
		return a.releaseAll(&n, all, asks)
	}
	a.wait(release)
	released := a.span(len(all), len(a.slots))
	parent := (n.v - 1) / n.fanIn
	a.put(n.signal(parent, (n.v-1)%n.fanIn), n.master(parent))
	a.rule(all)
	a.release(&n)
	a.rule(released)
	for i := range asks {
		from := len(a.slots)
		a.wait(release)
		a.wait(ir.Signal(arrivals + i))
		a.put(release, n.master(askAt(n.v, n.fanOut)+i))
		a.rule(a.span(from, from+2))
	}
	above := askAbove(n.v, n.fanOut)
	a.put(n.signal(above, heapDegree(above, n.hosts, n.fanIn)+n.v-askAt(above, n.fanOut)), n.master(above))
	a.repair(all, release, 1)
	return a.program(&n, arrivals+asks, released)
}

// release is the chunk that tells that all ranks have entered.
var release = ir.Chunk(0)

// releaseAll multicasts the release, and puts it to the node that asks for it.
func (a *arena) releaseAll(n *node, all []ir.Slot, asks int) ir.Program {
	done := a.arrived()
	if n.hosts > 1 {
		a.mcastChunks(1)
	}
	a.release(n)
	a.rule(all)
	if asks > 0 {
		a.wait(ir.Signal(len(all) - 1))
		a.put(release, n.master(1))
		a.rule(a.span(0, len(a.slots)))
	}
	return a.program(n, len(all)-1+asks, done)
}
