package network

import (
	"fmt"
	"slices"
)

// Router finds the routes of messages between ranks. A message takes the fewest hops through
// switches. Hosts forward it only if no way leads through switches alone. If several next nodes are
// equally near, the message goes to the one with the lowest number. So each node decides by the
// destination alone, as IP does. Only the routes that the network names depend on the source, too.
//
// A Router keeps what it has found. One goroutine at a time may use it.
type Router struct {
	n     *Network
	in    [][]int32        // by node: the arcs that enter it
	next  [][]int32        // by rank: by node, the arc to take there; -1: none. nil: not computed yet
	fixed map[[2]int][]int // by source and destination: the arcs of the routes that the network names
	trees map[int][]int    // by source, see Tree
	queue []int32          // scratch
}

// NewRouter returns a router of n, which must pass its Check.
func NewRouter(n *Network) *Router {
	r := &Router{n: n, in: make([][]int32, n.Nodes()), next: make([][]int32, len(n.Ranks)), fixed: make(map[[2]int][]int), trees: make(map[int][]int)}
	for i, a := range n.Arcs {
		r.in[a.To] = append(r.in[a.To], int32(i))
	}
	for _, route := range n.Routes {
		var arcs []int
		for i := 1; i < len(route); i++ {
			arcs = append(arcs, n.Find(route[i-1], route[i]))
		}
		r.fixed[[2]int{route[0], route[len(route)-1]}] = arcs
	}
	return r
}

// Route appends to arcs the arcs from a rank to another one. It returns an error if none lead there.
func (r *Router) Route(arcs []int, from, to int) ([]int, error) {
	for v := from; v != to; {
		arc := r.At(v, from, to)
		if arc < 0 {
			return nil, fmt.Errorf("no way leads from rank %d (%s) to rank %d (%s)", from, r.n.NameOf(from), to, r.n.NameOf(to))
		}
		arcs = append(arcs, arc)
		v = r.n.Arcs[arc].To
	}
	return arcs, nil
}

// At returns the arc that a message between two ranks takes at a node of its route. It returns -1
// if no way leads from there.
func (r *Router) At(node, from, to int) int {
	if fixed, ok := r.fixed[[2]int{from, to}]; ok {
		at := slices.IndexFunc(fixed, func(arc int) bool { return r.n.Arcs[arc].From == node })
		if at < 0 {
			return -1
		}
		return fixed[at]
	}
	return r.Next(node, to)
}

// Next returns the arc that a message to a rank takes at a node, or -1. It knows nothing of the
// routes that the network names.
func (r *Router) Next(node, to int) int {
	if r.next[to] == nil {
		r.next[to] = r.table(to)
	}
	return int(r.next[to][node])
}

// table returns the arc to take at each node.
func (r *Router) table(to int) []int32 {
	const far = 1 << 30
	nodes := r.n.Nodes()
	next, dist := make([]int32, nodes), make([]int32, 2*nodes)
	for i := range next {
		next[i] = -1
	}
	through, over := dist[:nodes], dist[nodes:] // distances through switches alone, and over all nodes
	for i, d := range [][]int32{through, over} {
		for v := range d {
			d[v] = far
		}
		d[to] = 0
		r.queue = append(r.queue[:0], int32(to))
		for at := 0; at < len(r.queue); at++ {
			v := r.queue[at]
			if i == 0 && int(v) != to && r.n.IsRank(int(v)) {
				continue // a host does not forward
			}
			for _, arc := range r.in[v] {
				if u := r.n.Arcs[arc].From; d[u] == far {
					d[u] = d[v] + 1
					r.queue = append(r.queue, int32(u))
				}
			}
		}
	}
	for i, a := range r.n.Arcs { // in ascending order of To at each node
		if next[a.From] >= 0 || a.From == to {
			continue
		}
		if d := through[a.From]; d < far {
			if through[a.To] == d-1 && (a.To == to || !r.n.IsRank(a.To)) {
				next[a.From] = int32(i)
			}
		} else if d := over[a.From]; d < far && over[a.To] == d-1 {
			next[a.From] = int32(i)
		}
	}
	return next
}

// Tree returns the arcs over which a message goes from a rank to all others if nodes multiply it, in
// ascending order. They are those of the routes to all ranks. A route that comes to a node by
// another way than an earlier route begins at the last such node. The caller must not change the
// arcs.
func (r *Router) Tree(from int) ([]int, error) {
	if tree, ok := r.trees[from]; ok {
		return tree, nil
	}
	in := make([]bool, r.n.Nodes())
	in[from] = true
	var tree, route []int
	for to := range r.n.Ranks {
		var err error
		if route, err = r.Route(route[:0], from, to); err != nil {
			return nil, err
		}
		for _, arc := range slices.Backward(route) {
			if in[r.n.Arcs[arc].To] {
				break
			}
			in[r.n.Arcs[arc].To] = true
			tree = append(tree, arc)
		}
	}
	slices.Sort(tree)
	r.trees[from] = tree
	return tree, nil
}
