package membership_test

import (
	"fmt"

	"github.com/schedgen/schedgen/runtime/membership"
)

func ExampleView() {
	one := membership.Member{ID: membership.NewID(), Name: "one", Address: "node1:7100"}
	two := membership.Member{ID: membership.NewID(), Name: "two", Address: "node2:7100"}
	view := membership.View{Epoch: 2, Members: []membership.Member{one, two}}
	fmt.Println(view.Check(), view.Rank(two.ID), view.Has(membership.NewID()))
	// Output: <nil> 1 false
}
