package network

import (
	"cmp"
	"slices"
)

// Order proposes which node should be which rank: rank i should be order[i] of n. A ring in this
// order keeps the busiest link the least busy that was found, and of such orders it crosses the
// fewest links. It is the order of n if no better one was found. Algorithms that follow the order of
// ranks gain by it; schedules that are made for the network need it not.
func Order(n *Network) []int {
	router := NewRouter(n)
	best := make([]int, len(n.Ranks))
	for i := range best {
		best[i] = i
	}
	least := router.ring(best)
	for _, order := range [][]int{n.depthFirst(), router.nearest(n)} {
		if c := router.ring(order); c.less(least) {
			best, least = order, c
		}
	}
	const many = 64 // ranks for which all pairs of links are tried
	if len(best) > many {
		return best
	}
	for better := true; better; {
		better = false
		for i := 1; i < len(best); i++ {
			for j := i + 1; j < len(best); j++ {
				slices.Reverse(best[i : j+1])
				if c := router.ring(best); c.less(least) {
					least, better = c, true
				} else {
					slices.Reverse(best[i : j+1])
				}
			}
		}
	}
	return best
}

// ringCost is what a ring costs.
type ringCost struct {
	busiest float64 // seconds in which a bit from each rank to the next one crosses the busiest arc
	hops    int
}

func (c ringCost) less(than ringCost) bool {
	const near = 1e-9
	switch {
	case c.busiest < than.busiest*(1-near):
		return true
	case c.busiest > than.busiest*(1+near):
		return false
	}
	return c.hops < than.hops
}

// ring returns the cost of a ring of ranks. A pair without a way between them costs more than any
// other ring.
func (r *Router) ring(order []int) (c ringCost) {
	load := make([]int, len(r.n.Arcs))
	var route []int
	for i, from := range order {
		to := order[(i+1)%len(order)]
		if from == to {
			continue
		}
		var err error
		if route, err = r.Route(route[:0], from, to); err != nil {
			c.hops += MaxNodes
		}
		c.hops += len(route)
		for _, arc := range route {
			load[arc]++
			c.busiest = max(c.busiest, float64(load[arc])/float64(r.n.Arcs[arc].Rate))
		}
	}
	return c
}

// depthFirst returns the ranks in the order in which a walk meets them that takes fast links first
// and goes back only when none is left.
func (n *Network) depthFirst() (order []int) {
	out := make([][]Arc, n.Nodes())
	for _, a := range n.Arcs {
		out[a.From] = append(out[a.From], a)
	}
	for _, arcs := range out {
		slices.SortStableFunc(arcs, func(a, b Arc) int { return cmp.Compare(b.Rate, a.Rate) })
	}
	seen := make([]bool, n.Nodes())
	for start := range n.Ranks {
		stack := []int{start}
		for len(stack) > 0 {
			v := stack[len(stack)-1]
			stack = stack[:len(stack)-1]
			if seen[v] {
				continue
			}
			if seen[v] = true; n.IsRank(v) {
				order = append(order, v)
			}
			for _, a := range slices.Backward(out[v]) {
				stack = append(stack, a.To)
			}
		}
	}
	return order
}

// nearest returns the ranks in an order in which each is followed by the nearest one that is left.
func (r *Router) nearest(n *Network) (order []int) {
	left := make([]int, len(n.Ranks))
	for i := range left {
		left[i] = i
	}
	at := 0
	for len(left) > 0 {
		v := left[at]
		order, left = append(order, v), slices.Delete(left, at, at+1)
		at = 0
		var least ringCost
		for i, to := range left {
			route, err := r.Route(nil, v, to)
			c := ringCost{hops: len(route)}
			for _, arc := range route {
				c.busiest = max(c.busiest, 1/float64(n.Arcs[arc].Rate))
			}
			if err == nil && (i == 0 || c.less(least)) {
				at, least = i, c
			}
		}
	}
	return order
}
