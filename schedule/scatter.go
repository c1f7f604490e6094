package schedule

import "github.com/schedgen/schedgen/ir"

// scatterAlong completes the description of a scatter that descends a tree. A rank gets the blocks
// of its whole sub-tree in one message, and puts to each child the blocks of the child's sub-tree.
// Masters serve other hosts first, then their slaves.

func scatterAlong(b branches, a Algorithm) Algorithm {
	a.Collective = Scatter
	a.Params = rootedParams()
	a.size, a.fill = b.sizeScatter, b.fillScatter
	a.slaves = slaves{sizeBcastSlave, fillScatterSlave}
	return a
}

func (b branches) sizeScatter(n node) size {
	if n.isRoot() {
		return size{rules: count(n.ranks > 1), slots: 1, acts: n.chunks * (n.ranks - 1)}
	}
	blocks := b.below(&n.layout, n.v).n
	return size{rules: count(blocks > 1), slots: blocks, acts: blocks - 1}.times(n.chunks)
}

func (b branches) fillScatter(n node, a arena) ir.Program {
	if n.isRoot() {
		a.wait(ir.Enter)
		for f := range n.chunks {
			b.putBranches(&a, &n, f)
		}
		for f := range n.chunks {
			a.putOnHost(&n, f)
		}
		a.rule(a.span(0, 1))
		return a.program(&n, 0, a.span(0, 1))
	}
	blocks := b.below(&n.layout, n.v)
	a.waitOwn(&n)
	for f := range n.chunks {
		from := len(a.slots)
		a.waitBlocks(&n, blocks, f)
		b.putBranches(&a, &n, f)
		a.putOnHost(&n, f)
		a.rule(a.span(from, len(a.slots)))
	}
	return a.program(&n, 0, a.span(0, len(a.slots)))
}

// putBranches puts chunk f of the blocks of each child's sub-tree to the child.
func (b *branches) putBranches(a *arena, n *node, f int) {
	for i := range b.degree(n.v, n.hosts) {
		child := b.child(n.v, n.hosts, i)
		from := len(a.acts)
		blocks, to := b.below(&n.layout, child), n.master(child)
		for j := range blocks.n {
			a.put(n.block(n.at(blocks, j), f), to)
		}
		a.join(from)
	}
}

// putOnHost puts chunk f of each slave's block to the slave.
func (a *arena) putOnHost(n *node, f int) {
	for i := range n.slaves() {
		a.put(n.block(n.slave(i), f), n.slave(i))
	}
}

// waitOwn writes the chunks of the node's own block.
func (a *arena) waitOwn(n *node) {
	for f := range n.chunks {
		a.wait(n.block(n.rank, f))
	}
}

func fillScatterSlave(n node, a arena) ir.Program {
	a.waitOwn(&n)
	return a.program(&n, 0, a.span(0, n.chunks))
}
