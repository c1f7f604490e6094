package verify

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"gonum.org/v1/gonum/graph"
	"gonum.org/v1/gonum/graph/iterator"
	"gonum.org/v1/gonum/graph/path"
	"gonum.org/v1/gonum/graph/simple"
	"gonum.org/v1/gonum/graph/topo"

	"github.com/schedgen/schedgen/ir"
)

// waitGraph is a part of the wait-for graph. Its nodes are slot numbers. Its edges have a fixed
// order, so that the same schedule always gives the same counterexample.
type waitGraph struct{ *simple.DirectedGraph }

// From returns the nodes for which the node waits, in ascending order.
func (g waitGraph) From(id int64) graph.Nodes {
	return iterator.NewOrderedNodes(sorted(graph.NodesOf(g.DirectedGraph.From(id))))
}

func sorted(nodes []graph.Node) []graph.Node {
	slices.SortFunc(nodes, func(a, b graph.Node) int { return cmp.Compare(a.ID(), b.ID()) })
	return nodes
}

// graph returns the part of the wait-for graph that can be reached from a slot. All its slots are
// stuck. They may be many, but the graph is needed only to explain a failure.
func (st *stuck) graph(from int64) waitGraph {
	g := simple.NewDirectedGraph()
	g.AddNode(simple.Node(from))
	for todo := []int64{from}; len(todo) > 0; {
		slot := todo[len(todo)-1]
		todo = todo[:len(todo)-1]
		for _, on := range st.waitingFor(slot) {
			if int64(on) == slot { // a put to oneself, which wellformed refuses
				continue
			}
			if g.Node(int64(on)) == nil {
				todo = append(todo, int64(on))
			}
			g.SetEdge(simple.Edge{F: simple.Node(slot), T: simple.Node(on)})
		}
	}
	return waitGraph{g}
}

// explain returns why p is never set. If there is a cycle that p waits for, directly or not, it
// returns the nearest one. Otherwise it returns the shortest path to a slot that no put would set.
func (st *stuck) explain(p Place) (steps []Step, cycle bool) {
	id := int64(st.sub.layout.Slot(p.Rank, p.Slot))
	if id < 0 {
		return []Step{{p, -1}}, false // no program mentions it
	}
	g := st.graph(id)
	nearest := path.DijkstraFrom(g.Node(id), g)
	if cyclic := inCycles(g); len(cyclic) > 0 {
		return st.steps(cycleThrough(g, closest(nearest, cyclic))), true
	}
	way, _ := nearest.To(closest(nearest, ends(g)).ID())
	return st.steps(way), false
}

// inCycles returns the nodes that are on cycles.
func inCycles(g waitGraph) []graph.Node {
	var nodes []graph.Node
	for _, scc := range topo.TarjanSCC(g) {
		if len(scc) > 1 {
			nodes = append(nodes, scc...)
		}
	}
	return nodes
}

// ends returns the nodes that wait for nothing. A graph without cycles has one.
func ends(g waitGraph) []graph.Node {
	var nodes []graph.Node
	for _, n := range graph.NodesOf(g.Nodes()) {
		if g.From(n.ID()).Len() == 0 {
			nodes = append(nodes, n)
		}
	}
	return nodes
}

// closest returns the node with the shortest path to it. Among several it returns the one with the
// smallest number.
func closest(from path.Shortest, nodes []graph.Node) graph.Node {
	return slices.MinFunc(nodes, func(a, b graph.Node) int {
		return cmp.Or(cmp.Compare(from.WeightTo(a.ID()), from.WeightTo(b.ID())), cmp.Compare(a.ID(), b.ID()))
	})
}

// cycleThrough returns a shortest cycle through node, which must be on one. The node is first and
// last in the result.
func cycleThrough(g waitGraph, node graph.Node) []graph.Node {
	var shortest []graph.Node
	for _, next := range graph.NodesOf(g.From(node.ID())) {
		back, _ := path.DijkstraFrom(next, g).To(node.ID())
		if len(back) > 0 && (shortest == nil || len(back) < len(shortest)) {
			shortest = back
		}
	}
	return append([]graph.Node{node}, shortest...)
}

func (st *stuck) steps(nodes []graph.Node) []Step {
	steps := make([]Step, len(nodes))
	for i, n := range nodes {
		steps[i] = Step{st.sub.layout.PlaceOf(int(n.ID())), -1}
		if i > 0 {
			steps[i-1].From = steps[i].Rank
		}
	}
	return steps
}

// tellStuck says in words what [stuck.explain] has found.
func (sub *subject) tellStuck(steps []Step, cycle bool) string {
	var parts []string
	for i, st := range steps {
		switch {
		case i < maxHops || i == len(steps)-1:
			parts = append(parts, st.Place.String())
		case i == maxHops:
			parts = append(parts, fmt.Sprintf("%d more", len(steps)-1-maxHops))
		}
	}
	end := steps[len(steps)-1].Place
	puts := "puts"
	if kind := end.Slot.Kind(); sub.folds && (kind == ir.KindChunk || kind == ir.KindValue) {
		puts = "puts or folds"
	}
	switch text := strings.Join(parts, " waits for "); {
	case cycle:
		return text + ", a cycle"
	case sub.calm.Slot(end.Rank, end.Slot) < 0 && len(steps) == 1:
		return "nobody " + puts + " it"
	case sub.calm.Slot(end.Rank, end.Slot) < 0:
		return text + ", which nobody " + puts
	case len(steps) == 1:
		return "no put brings it"
	default:
		return text + ", which no put brings"
	}
}

// ranksOf returns the ranks of a path, each once, in order.
func ranksOf(steps []Step) []int {
	var ranks []int
	seen := make(map[int]bool)
	for _, st := range steps {
		if !seen[st.Rank] {
			seen[st.Rank] = true
			ranks = append(ranks, st.Rank)
		}
	}
	return ranks
}
