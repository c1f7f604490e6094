package schedule

import (
	"testing"

	"github.com/stretchr/testify/require"
)

// Both are binary trees of logarithmic height over the same nodes, in order, and no node is an inner
// node of both.
func TestTwoTrees(t *testing.T) {
	for n := range twoTrees(300) {
		inner := make(map[int]int) // node: how many trees it is an inner node of
		for tree := range 2 {
			var order []int
			height := 0
			var visit func(node, depth int)
			visit = func(node, depth int) {
				height = max(height, depth)
				lower, higher := n.children(tree, node)
				for _, child := range []int{lower, higher} {
					if child != 0 {
						require.Equal(t, node, n.parent(tree, child), "%d nodes, tree %d: parent of %d", n, tree, child)
					}
				}
				if lower != 0 {
					visit(lower, depth+1)
				}
				order = append(order, node)
				if higher != 0 {
					visit(higher, depth+1)
				}
				inner[node] += count(lower != 0 || higher != 0)
			}
			if n == 0 {
				continue
			}
			visit(n.top(tree), 1)
			require.Zero(t, n.parent(tree, n.top(tree)))
			var all []int
			for node := range int(n) {
				all = append(all, node+1)
			}
			require.Equal(t, all, order, "%d nodes, tree %d", n, tree)
			require.LessOrEqual(t, 1<<(height-1), 2*int(n), "%d nodes, tree %d: height %d", n, tree, height)
		}
		for node, times := range inner {
			require.LessOrEqual(t, times, 1, "%d nodes: node %d", n, node)
		}
	}
}
