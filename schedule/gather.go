package schedule

import "github.com/schedgen/schedgen/ir"

// gatherAlong completes the description of a gather that climbs a tree. A rank that has the blocks
// of its whole sub-tree puts them to its parent in one message. Slaves put their blocks to their
// master.

func gatherAlong(b branches, a Algorithm) Algorithm {
	a.Collective = Gather
	a.Params = rootedParams()
	a.size, a.fill = b.sizeGather, b.fillGather
	a.slaves = slaves{sizeGatherSlave, fillGatherSlave}
	return a
}

func (b branches) sizeGather(n node) size {
	if n.isRoot() {
		return size{slots: n.othersSize()}
	}
	blocks := b.below(&n.layout, n.v).n
	z := n.eachChunkSize(blocks, blocks)
	z.slots += n.chunks * (blocks - 1)
	return z
}

func (b branches) fillGather(n node, a arena) ir.Program {
	if n.isRoot() {
		a.waitForOthers(&n)
		return a.program(&n, 0, a.slots)
	}
	blocks := b.below(&n.layout, n.v)
	a.eachChunk(&n, func(f int) {
		a.wait(ir.Enter)
		a.waitBlocks(&n, blocks, f)
	}, func(f int) { a.putBlocks(&n, blocks, f, n.master(b.parent(n.v))) })
	if blocks.n == 1 {
		return a.program(&n, 0, a.span(0, 1))
	}
	from := len(a.slots)
	for f := range n.chunks {
		a.waitBlocks(&n, blocks, f)
	}
	return a.program(&n, 0, a.span(from, len(a.slots)))
}

func sizeGatherSlave(n node) size { return size{rules: 1, slots: 1, acts: n.chunks} }

func fillGatherSlave(n node, a arena) ir.Program {
	a.contribute(&n)
	return a.program(&n, 0, a.span(0, 1))
}
