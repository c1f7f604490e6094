package schedule

import (
	"math/bits"

	"github.com/schedgen/schedgen/ir"
)

// Two trees (P. Sanders, J. Speck and J. L. Träff, Two-tree algorithms for full bandwidth
// broadcast, reduction and scan, 2009; also NCCL's double binary tree). The hosts except the root's
// are the nodes 1 … n of two binary trees, and each node is a leaf of at least one of them. Even
// chunks take the first tree and odd chunks the second. A node that passes the chunks of one tree on
// to two others is a leaf for the others. So of each two chunks it receives both and sends one
// twice, and the links of all nodes are busy in both directions. A chain does the same, but needs n
// steps for the first chunk, where the trees need log n.
//
// In the first tree the odd nodes are the leaves. A node whose lowest bit is b lies b/2 beside its
// children, so the nodes of a sub-tree follow each other: a node, those to its left and those to
// its right are in order. The second tree is the same tree of the nodes 2 … n+1, named 1 … n.

// twoTrees are the trees of nodes 1 … n, by number.
type twoTrees int

// shift returns by how much the nodes of a tree are named less than in the pattern.
func (n twoTrees) shift(tree int) int { return tree & 1 }

// top returns the root of a tree.
func (n twoTrees) top(tree int) int {
	s := n.shift(tree)
	p2, _ := powerBelow(int(n) + s)
	return p2 - s
}

// children returns the nodes below a node, 0 if there is none: the lower and the higher one.
func (n twoTrees) children(tree, node int) (lower, higher int) {
	s := n.shift(tree)
	i, last := node+s, int(n)+s
	half := (i & -i) / 2
	if half == 0 {
		return 0, 0
	}
	lower = i - half - s // 0 if the pattern's node 1 is no node of the second tree
	for half > 0 && i+half > last {
		half /= 2
	}
	if half > 0 {
		higher = i + half - s
	}
	return lower, higher
}

// parent returns the node above a node, or 0 above the top.
func (n twoTrees) parent(tree, node int) int {
	s := n.shift(tree)
	i, last := node+s, int(n)+s
	low := i & -i
	switch {
	case node == n.top(tree):
		return 0
	case i&(2*low) == 0 && i+low <= last:
		return i + low - s
	}
	return i - low - s
}

// ahead returns by how many chunks a leaf may be ahead of the same node's work as an inner node of
// the other tree. A leaf could put all of its contribution at once, and what it passes on for others
// would wait behind that. It is an odd number, so that the chunk that many before takes the other
// tree, and enough for the way from a leaf to the top and back.
func (n twoTrees) ahead(f int) int { return min(5+f/8*2, 2*bits.Len(uint(n))+1) }

// chunksOf returns how many of chunks chunks take a tree.
func chunksOf(tree, chunks int) int { return (chunks + 1 - tree&1) / 2 }

// putDown adds the puts of chunk f to the ranks below node, and to the slaves.
func (a *arena) putDown(n *node, f, node int) {
	trees := twoTrees(n.hosts - 1)
	switch {
	case trees == 0:
	case node == 0:
		a.put(ir.Chunk(f), n.master(trees.top(f)))
	default:
		lower, higher := trees.children(f, node)
		for _, child := range [2]int{lower, higher} {
			if child != 0 {
				a.put(ir.Chunk(f), n.master(child))
			}
		}
	}
	a.share(n, f)
}

// foldUp writes the rules by which chunk f climbs its tree to the master of virtual rank home, where
// it becomes the result. A node is an inner node of one tree at most, and has partial results for the
// chunks of that tree. It numbers them after those of its host. The results of the lower child come
// first, those of the higher child second, and its own last.
func (a *arena) foldUp(n *node, c *layer, f, home int) {
	if !n.isMaster() {
		a.contributeTo(n, c)
		return
	}
	trees := twoTrees(n.hosts - 1)
	have := n.slot(a.contribution(n, c, n.hosts == 1), f)
	node := nodeOf(n.v, home)
	if node == 0 {
		if trees > 0 {
			theirs := n.partial(n.ofHost(home), f)
			if home == 0 {
				a.foldTwo(ir.Chunk(f), have, theirs)
			} else {
				a.foldTwo(ir.Chunk(f), theirs, have)
			}
		}
		return
	}
	lower, higher := trees.children(f, node)
	if lower != 0 || higher != 0 {
		var operands [3]ir.Slot
		all := operands[:0]
		if lower != 0 {
			all = append(all, n.ofTree(n.v, 0, f))
		}
		all = append(all, have)
		if higher != 0 {
			all = append(all, n.ofTree(n.v, count(lower != 0), f))
		}
		made := n.ofTree(n.v, len(all)-1, f)
		from := a.begin()
		for _, s := range all {
			a.uses(from, s)
		}
		a.fold(made, all...)
		a.end(from)
		have = made
	}
	parent := trees.parent(f, node)
	to, as := hostOf(parent, home), n.partial(n.ofHost(home), f)
	if parent != 0 {
		first, _ := trees.children(f, parent)
		as = n.ofTree(to, count(first != 0 && first != node), f)
	}
	from := a.begin()
	a.uses(from, have)
	if before := f - trees.ahead(f); before >= 0 && lower == 0 && higher == 0 {
		if l, h := trees.children(before, node); l != 0 || h != 0 {
			a.uses(from, n.ofTree(n.v, count(l != 0)+count(h != 0), before))
			if have.Kind() == ir.KindValue {
				a.late = append(a.late, have) // lastRule notes the other one
			}
		}
	}
	a.acts = append(a.acts, ir.PutAs(have, n.master(to), as))
	a.end(from)
}

// ofTree returns partial result i of an inner node for chunk f.
func (n *node) ofTree(v, i, f int) ir.Slot {
	return ir.Value(n.ofHost(v)*n.vector + i*chunksOf(f, n.chunks) + f/2)
}

// nodeOf returns the node of virtual rank v, 0 for home. The nodes are in the order of the hosts.
func nodeOf(v, home int) int {
	switch {
	case v == home:
		return 0
	case v < home:
		return v + 1
	}
	return v
}

// hostOf is the inverse of nodeOf.
func hostOf(node, home int) int {
	switch {
	case node == 0:
		return home
	case node <= home:
		return node - 1
	}
	return node
}
