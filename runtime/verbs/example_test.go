package verbs_test

import (
	"context"
	"log"

	"github.com/schedgen/schedgen/runtime"
	"github.com/schedgen/schedgen/runtime/tcp"
	"github.com/schedgen/schedgen/runtime/verbs"
)

// The ranks find each other by TCP, and then use an InfiniBand or RoCE adapter.
func ExampleJoin() {
	ctx := context.Background()
	t, err := verbs.Join(ctx, verbs.Config{TCP: tcp.Config{Rank: 3, Size: 8, Coordinator: "node0:7777"}, Device: "mlx5_0"})
	if err != nil {
		log.Fatal(err) // such as: there is no adapter
	}
	comm, err := runtime.Join(ctx, runtime.Config{Transport: t})
	if err != nil {
		log.Fatal(err)
	}
	defer comm.Close()
	if err := comm.Barrier(ctx); err != nil {
		log.Fatal(err)
	}
}
