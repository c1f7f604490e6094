package group_test

import (
	"context"
	"fmt"
	"os"

	"github.com/schedgen/schedgen/runtime/group"
	"github.com/schedgen/schedgen/runtime/membership/file"
	"github.com/schedgen/schedgen/runtime/tcp"
	"github.com/schedgen/schedgen/runtime/wire"
)

func ExampleJoin() {
	ctx := context.Background()
	dir, err := os.MkdirTemp("", "prices")
	if err != nil {
		panic(err)
	}
	defer os.RemoveAll(dir)
	manager, err := file.New(file.Config{Dir: dir})
	if err != nil {
		panic(err)
	}
	g, err := group.Join(ctx, group.Config{
		Name: "prices", Address: "127.0.0.1:0", Manager: manager,
		Connect: func(ctx context.Context, m group.Meeting) (wire.Transport, error) {
			return tcp.Join(ctx, tcp.Config{Rank: m.Rank, Size: m.Size, Job: m.Job, Coordinator: m.Coordinator, Listener: m.Listener})
		},
	})
	if err != nil {
		panic(err)
	}
	if err := g.Publish(ctx, []byte("gold 4012")); err != nil {
		panic(err)
	}
	msg, err := g.Next(ctx) // a member gets its own messages, too
	if err != nil {
		panic(err)
	}
	fmt.Printf("epoch %d: %s\n", msg.Epoch, msg.Data)
	if err := g.Leave(ctx); err != nil {
		panic(err)
	}
	// Output: epoch 1: gold 4012
}
