package schedule

import "github.com/schedgen/schedgen/ir"

// Hosts (paper 003, §4.1). One of the ranks that share a host is the master, and an algorithm runs
// among the masters alone. In a barrier slaves check in at their master. Its rules count the
// check-ins as part of its own arrival (arena.arrive), and it releases its slaves when it is done
// (arena.release). In a broadcast the master puts each chunk to its slaves when it gets the chunk
// (arena.share).

// slaveRelease is the only signal of a slave of a barrier: its release.
const slaveRelease = 0

// arrive writes the slots for which a master waits before it announces that its host has entered:
// enter and the check-ins of its slaves.
func (a *arena) arrive(n *node) {
	a.wait(ir.Enter)
	a.waitSignals(0, n.slaves())
}

// release puts the release signals to the node's slaves.
func (a *arena) release(n *node) {
	for i := range n.slaves() {
		a.put(ir.Signal(slaveRelease), n.slave(i))
	}
}

// share puts chunk k to the node's slaves.
func (a *arena) share(n *node, k int) {
	for i := range n.slaves() {
		a.put(ir.Chunk(k), n.slave(i))
	}
}

// arrived returns the Done slots of a master that waits only for the slots written, enter first.
// They are all of these slots except enter, or enter if there are no others.
func (a *arena) arrived() []ir.Slot {
	return a.span(min(1, len(a.slots)-1), len(a.slots))
}

// The programs of slaves whose masters need not know how many blocks there are.
var (
	barrierSlaves = slaves{sizeBarrierSlave, fillBarrierSlave}
	bcastSlaves   = slaves{sizeBcastSlave, fillBcastSlave}
	ackedSlaves   = slaves{sizeAckedSlave, fillAckedSlave}
)

func sizeBarrierSlave(node) size { return size{rules: 1, slots: 2, acts: 1} }

func fillBarrierSlave(n node, a arena) ir.Program {
	a.wait(ir.Enter)
	a.wait(ir.Signal(slaveRelease))
	a.put(ir.Signal(n.slaveIndex()), n.master(n.v))
	a.rule(a.span(0, 1))
	return a.program(&n, 1, a.span(1, 2))
}

func sizeBcastSlave(n node) size { return size{slots: n.chunks} }

func fillBcastSlave(n node, a arena) ir.Program {
	a.waitChunks(n.chunks)
	return a.program(&n, 0, a.span(0, n.chunks))
}

func sizeAckedSlave(n node) size {
	return size{rules: 1, slots: n.chunks, acts: 1, peers: peersOfRecovery(&n)}
}

func fillAckedSlave(n node, a arena) ir.Program {
	a.waitChunks(n.chunks)
	all := a.span(0, n.chunks)
	a.put(ir.Signal(n.slaveIndex()), n.master(n.v))
	a.recoverAs(&n, a.last(1))
	a.rule(all)
	return a.program(&n, 0, all)
}
