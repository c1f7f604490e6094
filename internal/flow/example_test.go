package flow_test

import (
	"fmt"

	"github.com/schedgen/schedgen/internal/flow"
)

func ExampleGraph() {
	g := flow.New(4)
	g.Arc(0, 1, 3)
	g.Arc(0, 2, 2)
	g.Arc(1, 3, 1)
	g.Arc(2, 3, 5)
	fmt.Println("from 0 to 3:", g.Augment(g.Zero(), 0, 3, flow.Inf))
	fmt.Println("1 is on the source's side of the cut:", g.Reached(1))
	// Output:
	// from 0 to 3: 3
	// 1 is on the source's side of the cut: true
}
