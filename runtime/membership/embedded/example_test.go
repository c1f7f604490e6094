package embedded_test

import (
	"context"
	"fmt"
	"log"

	"github.com/schedgen/schedgen/runtime/membership"
	"github.com/schedgen/schedgen/runtime/membership/embedded"
)

// The first member makes the first view. Package group uses the views.
func ExampleNew() {
	ctx := context.Background()
	m, err := embedded.New(embedded.Config{Group: "prices", Listen: "127.0.0.1:0"})
	if err != nil {
		log.Fatal(err)
	}
	defer m.Close()
	self := membership.Member{ID: membership.NewID(), Name: "one", Address: "127.0.0.1:7000"}
	view, err := m.Join(ctx, self)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Printf("epoch %d, rank %d of %d\n", view.Epoch, view.Rank(self.ID), len(view.Members))
	if err := m.Leave(ctx); err != nil {
		log.Fatal(err)
	}
	// Output: epoch 1, rank 0 of 1
}
