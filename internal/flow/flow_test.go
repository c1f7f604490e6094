package flow

import (
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"
	"gonum.org/v1/gonum/graph/network"
	"gonum.org/v1/gonum/graph/simple"

	"github.com/schedgen/schedgen/internal/test/heavy"
)

// Maximum flows equal those of gonum, and the cut that was found has their capacity.
func TestAgainstGonum(t *testing.T) {
	for seed := range heavy.Seeds(heavy.Or(300, 3000)) {
		rnd := rand.New(rand.NewPCG(seed, 0))
		nodes := 3 + rnd.IntN(12)
		g, h := New(nodes), simple.NewWeightedDirectedGraph(0, 0)
		for v := range nodes {
			h.AddNode(simple.Node(v))
		}
		for range 4 * nodes {
			a, b := rnd.IntN(nodes), rnd.IntN(nodes)
			if a == b || h.HasEdgeFromTo(int64(a), int64(b)) {
				continue
			}
			c := 1 + rnd.Int64N(1000)
			g.Arc(a, b, c)
			h.SetWeightedEdge(h.NewWeightedEdge(simple.Node(a), simple.Node(b), float64(c)))
		}
		f := g.Zero()
		got := g.Augment(f, 0, 1, Inf)
		require.Equal(t, network.MaxFlowDinic(h, simple.Node(0), simple.Node(1), 1e-9), float64(got), "seed %d", seed)
		require.Equal(t, got, cutOf(g), "seed %d", seed)
		requireFlow(t, g, f, 0, 1, got)

		// A flow that is kept while capacities grow becomes the flow of the larger graph.
		for e := range g.Cap {
			g.Cap[e] += rnd.Int64N(3) * 10
		}
		more := g.Augment(f, 0, 1, Inf)
		requireFlow(t, g, f, 0, 1, got+more)
		require.Equal(t, g.Augment(g.Zero(), 0, 1, Inf), got+more, "seed %d", seed)
	}
}

func cutOf(g *Graph) (sum int64) {
	for e := range g.Cap {
		if g.Reached(g.From(e)) && !g.Reached(g.To(e)) {
			sum += g.Cap[e]
		}
	}
	return sum
}

// requireFlow requires that f takes value from s to t, and neither makes nor loses anything elsewhere.
func requireFlow(t testing.TB, g *Graph, f Flow, s, to int, value int64) {
	balance := make(map[int]int64)
	for e, amount := range f {
		require.GreaterOrEqual(t, amount, int64(0))
		require.LessOrEqual(t, amount, g.Cap[e])
		balance[g.From(e)] -= amount
		balance[g.To(e)] += amount
	}
	for v := range g.out {
		switch v {
		case s:
			require.Equal(t, -value, balance[v])
		case to:
			require.Equal(t, value, balance[v])
		default:
			require.Zero(t, balance[v])
		}
	}
}

func TestBounds(t *testing.T) {
	g := New(3)
	a, b := g.Arc(0, 1, 5), g.Arc(1, 2, 3)
	f := g.Zero()
	require.EqualValues(t, 2, g.Augment(f, 0, 2, 2), "no more than wanted")
	require.Equal(t, Flow{2, 2}, f)
	require.EqualValues(t, 1, g.Augment(f, 0, 2, 9))
	require.EqualValues(t, 7, g.Augment(f, 1, 1, 7), "to itself")
	require.EqualValues(t, 3, g.Augment(f, 2, 0, 9), "backwards: what was sent is taken back")
	require.Equal(t, Flow{0, 0}, f)
	require.Equal(t, []int{0, 1, 1, 2}, []int{g.From(a), g.To(a), g.From(b), g.To(b)})
}
