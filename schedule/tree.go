package schedule

import "github.com/schedgen/schedgen/ir"

// tree is a broadcast in which every virtual rank gets each chunk from one parent and puts it to
// its children. There is one rule a chunk, so that chunks travel one behind the other.
type tree struct {
	mcast  bool                      // the root multicasts every chunk as well
	late   bool                      // the root serves its slaves after all chunks have gone to its children
	degree func(v, group int) int    // number of children of v in a group
	child  func(v, group, i int) int // child i of v, in the order of sending
}

func (t tree) size(n node) size {
	fan := t.degree(n.v, n.hosts) + n.slaves()
	if n.isRoot() {
		acts := n.chunks * (fan + count(t.mcasts(&n)))
		return size{rules: count(acts > 0), slots: 1, acts: acts}
	}
	return size{rules: n.chunks * count(fan > 0), slots: n.chunks, acts: n.chunks * fan}
}

// mcasts reports whether the root multicasts: tree.mcast is set and there are other ranks.
func (t tree) mcasts(n *node) bool { return t.mcast && n.ranks > 1 }

func (t tree) fill(n node, a arena) ir.Program {
	if n.isRoot() {
		return t.fillRoot(&n, a)
	}
	a.waitChunks(n.chunks)
	fan := t.send(&n, &a) + n.slaves()
	a.share(&n, 0)
	a.rule(a.span(0, 1))
	for k := 1; k < n.chunks; k++ {
		a.again(fan, k)
		a.rule(a.span(k, k+1))
	}
	return a.program(&n, 0, a.span(0, n.chunks))
}

// fillRoot writes the program of the root. Multicasts come first, because one of them serves all
// ranks.
func (t tree) fillRoot(n *node, a arena) ir.Program {
	a.wait(ir.Enter)
	if t.mcasts(n) {
		a.mcastChunks(n.chunks)
	}
	fan := t.send(n, &a)
	if !t.late {
		a.share(n, 0)
		fan += n.slaves()
	}
	for k := 1; k < n.chunks; k++ {
		a.again(fan, k)
	}
	for k := 0; t.late && k < n.chunks; k++ {
		a.share(n, k)
	}
	a.rule(a.span(0, 1))
	return a.program(n, 0, a.span(0, 1))
}

// send puts chunk 0 to the children and returns their number.
func (t tree) send(n *node, a *arena) int {
	fan := t.degree(n.v, n.hosts)
	for i := range fan {
		a.put(ir.Chunk(0), n.master(t.child(n.v, n.hosts, i)))
	}
	return fan
}
