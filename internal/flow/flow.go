// Package flow computes maximum flows and minimum cuts in integers. A flow may be kept while the
// capacities of its graph change, and repaired: [Graph.Augment] sends more of it.
package flow

import "math"

// Inf is a capacity that no flow exhausts.
const Inf = math.MaxInt64 / 4

// Graph is nodes and arcs with capacities. One goroutine at a time may use it.
type Graph struct {
	Cap      []int64 // by arc
	from, to []int32
	out, in  [][]int32 // by node: arcs

	// The memory of a search.
	level []int32 // by node: distance from the source, -1: not reached
	iter  []int32 // by node: the next of its arcs to try, those out of it before those into it
	queue []int32
}

// Flow is the amount on each arc. Arcs that were added after it was made have none.
type Flow []int64

// New returns a graph of nodes 0 … nodes-1 without arcs.
func New(nodes int) *Graph {
	g := &Graph{}
	for range nodes {
		g.Node()
	}
	return g
}

// Node adds a node and returns it.
func (g *Graph) Node() int {
	g.out, g.in = append(g.out, nil), append(g.in, nil)
	g.level, g.iter = append(g.level, -1), append(g.iter, 0)
	return len(g.out) - 1
}

// Arc adds an arc and returns it.
func (g *Graph) Arc(from, to int, capacity int64) int {
	e := int32(len(g.Cap))
	g.Cap = append(g.Cap, capacity)
	g.from, g.to = append(g.from, int32(from)), append(g.to, int32(to))
	g.out[from], g.in[to] = append(g.out[from], e), append(g.in[to], e)
	return int(e)
}

// Arcs returns the number of arcs.
func (g *Graph) Arcs() int { return len(g.Cap) }

// From returns the node that an arc leaves.
func (g *Graph) From(arc int) int { return int(g.from[arc]) }

// To returns the node that an arc enters.
func (g *Graph) To(arc int) int { return int(g.to[arc]) }

// Out returns the arcs that leave a node. The caller must not change them.
func (g *Graph) Out(node int) []int32 { return g.out[node] }

// In returns the arcs that enter a node. The caller must not change them.
func (g *Graph) In(node int) []int32 { return g.in[node] }

// Zero returns a flow of nothing.
func (g *Graph) Zero() Flow { return make(Flow, len(g.Cap)) }

// Augment adds to f, which has an entry for each arc, up to want from s to t. It returns how much it
// added. It never takes more from s or brings more to t, so the amounts at other nodes keep. This is
// Dinic's algorithm on the residual graph of f.
func (g *Graph) Augment(f Flow, s, t int, want int64) (sent int64) {
	if s == t {
		return want
	}
	for sent < want && g.search(f, int32(s), int32(t)) {
		clear(g.iter)
		for sent < want {
			more := g.push(f, int32(s), int32(t), want-sent)
			if more == 0 {
				break
			}
			sent += more
		}
	}
	return sent
}

// Reached reports whether a node is on the side of the source in the minimum cut that the last call
// of Augment has found. It is of no use if that call sent all that was wanted.
func (g *Graph) Reached(node int) bool { return g.level[node] >= 0 }

// search computes the distances from s in the residual graph until it reaches t.
func (g *Graph) search(f Flow, s, t int32) bool {
	for i := range g.level {
		g.level[i] = -1
	}
	g.level[s] = 0
	q := append(g.queue[:0], s)
	for i := 0; i < len(q) && g.level[t] < 0; i++ {
		v := q[i]
		for _, e := range g.out[v] {
			if u := g.to[e]; g.level[u] < 0 && g.Cap[e] > f[e] {
				g.level[u] = g.level[v] + 1
				q = append(q, u)
			}
		}
		for _, e := range g.in[v] {
			if u := g.from[e]; g.level[u] < 0 && f[e] > 0 {
				g.level[u] = g.level[v] + 1
				q = append(q, u)
			}
		}
	}
	g.queue = q
	return g.level[t] >= 0
}

// push sends up to want from v to t on arcs that lead one step away from the source. It tries the
// arcs of each node once in all calls between two searches. It is recursive, as deep as the way is
// long.
func (g *Graph) push(f Flow, v, t int32, want int64) (sent int64) {
	if v == t {
		return want
	}
	out := g.out[v]
	for ; int(g.iter[v]) < len(out); g.iter[v]++ {
		e := out[g.iter[v]]
		if room := g.Cap[e] - f[e]; room > 0 && g.level[g.to[e]] == g.level[v]+1 {
			more := g.push(f, g.to[e], t, min(want-sent, room))
			f[e] += more
			if sent += more; sent == want {
				return sent
			}
		}
	}
	in := g.in[v]
	for ; int(g.iter[v]) < len(out)+len(in); g.iter[v]++ {
		e := in[int(g.iter[v])-len(out)]
		if f[e] > 0 && g.level[g.from[e]] == g.level[v]+1 {
			more := g.push(f, g.from[e], t, min(want-sent, f[e]))
			f[e] -= more
			if sent += more; sent == want {
				return sent
			}
		}
	}
	return sent
}
