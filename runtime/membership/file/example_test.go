package file_test

import (
	"context"
	"fmt"
	"log"
	"os"

	"github.com/schedgen/schedgen/runtime/membership"
	"github.com/schedgen/schedgen/runtime/membership/file"
)

// The first member makes the first view. Package group uses the views.
func ExampleNew() {
	ctx := context.Background()
	dir, err := os.MkdirTemp("", "prices")
	if err != nil {
		log.Fatal(err)
	}
	defer os.RemoveAll(dir)
	m, err := file.New(file.Config{Dir: dir})
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
