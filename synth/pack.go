package synth

import (
	"fmt"
	"slices"

	"github.com/schedgen/schedgen/internal/flow"
)

// Tree is a number of equal spanning trees of the ranks. Data goes from the root to all others, or
// in a reduction from all others to the root.
type Tree struct {
	Root   int
	Weight int64   // how many trees there are
	Parent []int32 // by rank; -1 for the root
	Order  []int32 // all ranks, each after its parent
	Depth  int     // the longest way from the root
	Up     bool    // contributions go to the root
}

// bundle is trees that have reached the same ranks by the same arcs so far.
type bundle struct {
	Tree
	in   []bool // by rank: reached
	node int    // of the packer
}

// packer packs trees. Its graph has the arcs of the fabric, a source, and a node for each bundle
// that has begun. The source has an arc to the root of each bundle that has not begun, and to each
// other one, with the number of trees as the capacity. A bundle has arcs without a limit to the
// ranks that it has reached. All trees can be completed if and only if, for each rank, a flow from
// the source brings all of them there (Edmonds).
//
// If a bundle takes the arc x→y, then it takes capacity only from sets of ranks that y is in. So it is
// enough to look at the flow to y. flows has one for each rank, and it is brought up to date only
// when it is looked at.
type packer struct {
	*fabric
	g      *flow.Graph
	source int
	ready  []int   // by rank: the arc from the source for bundles that have not begun
	nodes  []int   // nodes of bundles that are not in use
	supply []int   // by node of a bundle, after the ranks and the source: the arc from the source
	reach  [][]int // likewise: its arcs, by rank
	flows  []flow.Flow
}

// pack finds the trees: k for each block of each root.
func (f *fabric) pack() ([]Tree, error) {
	ranks := len(f.n.Ranks)
	p := &packer{fabric: f, g: flow.New(ranks + 1), source: ranks}
	for e, c := range f.caps {
		p.g.Arc(int(f.from[e]), int(f.to[e]), c)
	}
	for r, weight := range f.weights {
		p.ready = append(p.ready, p.g.Arc(p.source, r, f.k*weight))
	}
	p.flows = make([]flow.Flow, ranks)
	var trees []Tree
	for r, weight := range f.weights {
		if weight == 0 {
			continue
		}
		waiting := []*bundle{p.begin(r)}
		for len(waiting) > 0 {
			b := waiting[0]
			waiting = waiting[1:]
			for i := 0; i < len(b.Order) && len(b.Order) < ranks; i++ { // breadth first
				x := b.Order[i]
				for _, e := range p.g.Out(int(x)) {
					y := p.g.To(int(e))
					if b.in[y] || p.g.Cap[e] == 0 {
						continue
					}
					if rest := p.take(b, int(e)); rest != nil {
						waiting = append(waiting, rest)
					}
				}
			}
			if len(b.Order) < ranks {
				return nil, fmt.Errorf("a tree of rank %d reaches %d of %d ranks", r, len(b.Order), ranks)
			}
			p.end(b)
			trees = append(trees, b.Tree.measured())
		}
	}
	return trees, nil
}

// measured returns the tree with its depth.
func (t Tree) measured() Tree {
	depth := make([]int, len(t.Parent))
	for _, v := range t.Order[1:] {
		depth[v] = depth[t.Parent[v]] + 1
		t.Depth = max(t.Depth, depth[v])
	}
	return t
}

// begin makes a bundle of all trees of a root.
func (p *packer) begin(root int) *bundle {
	ranks := len(p.n.Ranks)
	b := &bundle{Tree: Tree{Root: root, Weight: p.k * p.weights[root], Parent: make([]int32, ranks), Order: []int32{int32(root)}}, in: make([]bool, ranks), node: p.node()}
	b.Parent[root], b.in[root] = -1, true
	supply, reach := p.arcsOf(b.node)
	p.g.Cap[p.ready[root]] = 0
	p.g.Cap[supply], p.g.Cap[reach[root]] = b.Weight, flow.Inf
	return b
}

// node returns a node for a bundle.
func (p *packer) node() int {
	if last := len(p.nodes) - 1; last >= 0 {
		v := p.nodes[last]
		p.nodes = p.nodes[:last]
		return v
	}
	v := p.g.Node()
	p.supply = append(p.supply, p.g.Arc(p.source, v, 0))
	var reach []int
	for r := range p.n.Ranks {
		reach = append(reach, p.g.Arc(v, r, 0))
	}
	p.reach = append(p.reach, reach)
	return v
}

// arcsOf returns the arc from the source to the node of a bundle, and by rank the arcs from it.
func (p *packer) arcsOf(node int) (supply int, reach []int) {
	at := node - p.source - 1
	return p.supply[at], p.reach[at]
}

// take lets as many trees of b as possible take the arc e, which leads from a rank that b has reached
// to one that it has not. The others become a bundle of their own, which take returns.
func (p *packer) take(b *bundle, e int) (rest *bundle) {
	x, y := p.g.From(e), p.g.To(e)
	supply, reach := p.arcsOf(b.node)
	whole := p.g.Cap[e]
	m := min(b.Weight, whole)
	p.g.Cap[supply] = 0 // what comes from b now comes over arcs that b has taken since
	p.settle(y)
	p.g.Cap[supply] = b.Weight
	for m > 0 {
		// With m trees on the arc, no more than m of b come to y directly.
		p.g.Cap[e], p.g.Cap[reach[y]] = whole-m, m
		lost := p.settle(y)
		if lost == 0 {
			break
		}
		m -= min(m, lost)
	}
	p.g.Cap[e], p.g.Cap[reach[y]] = whole-m, 0
	if m == 0 {
		return nil
	}
	if m < b.Weight {
		rest = p.divide(b, m)
	}
	p.g.Cap[reach[y]] = flow.Inf
	b.Parent[y], b.in[y] = int32(x), true
	b.Order = append(b.Order, int32(y))
	return rest
}

// settle makes the flow to a rank one of the present capacities that brings there as much as
// possible. It returns how much of what leaves the source does not come.
func (p *packer) settle(to int) (lost int64) {
	f := p.flows[to]
	f = append(f, make(flow.Flow, p.g.Arcs()-len(f))...)
	p.flows[to] = f
	for _, e := range p.g.Out(p.source) {
		if over := f[e] - p.g.Cap[e]; over > 0 {
			f[e] -= over
			p.back(f, to, p.g.To(int(e)), over)
		}
	}
	for e, c := range p.g.Cap {
		if over := f[e] - c; over > 0 {
			f[e] -= over
			over -= p.g.Augment(f, p.g.From(e), p.g.To(e), over) // another way, or a circle
			p.back(f, p.g.From(e), p.source, over)
			p.back(f, to, p.g.To(e), over)
		}
	}
	for _, e := range p.g.Out(p.source) {
		lost += p.g.Cap[e] - f[e]
	}
	return lost - p.g.Augment(f, p.source, to, lost)
}

// back takes back flow that a node gets from another one. All of it can go the way that it came.
func (p *packer) back(f flow.Flow, from, to int, amount int64) {
	if got := p.g.Augment(f, from, to, amount); got < amount {
		panic(fmt.Sprintf("synth: %d of %d trees do not go back from node %d to node %d", amount-got, amount, from, to))
	}
}

// divide makes two bundles of one: m trees, which stay b, and the others.
func (p *packer) divide(b *bundle, m int64) *bundle {
	rest := &bundle{Tree: b.Tree, in: slices.Clone(b.in), node: p.node()}
	rest.Parent, rest.Order = slices.Clone(b.Parent), slices.Clone(b.Order)
	rest.Weight, b.Weight = b.Weight-m, m
	supply, _ := p.arcsOf(b.node)
	p.g.Cap[supply] = m
	supply, reach := p.arcsOf(rest.node)
	p.g.Cap[supply] = rest.Weight
	for _, r := range rest.Order {
		p.g.Cap[reach[r]] = flow.Inf
	}
	return rest
}

// end takes a bundle that has reached all ranks out of the graph.
func (p *packer) end(b *bundle) {
	supply, reach := p.arcsOf(b.node)
	p.g.Cap[supply] = 0
	for _, e := range reach {
		p.g.Cap[e] = 0
	}
	p.nodes = append(p.nodes, b.node)
}
