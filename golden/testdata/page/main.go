// Page joins, shows a status page, and meets the other ranks at a barrier.
package main

import (
	"context"
	"log"

	"github.com/schedgen/schedgen"
	"github.com/schedgen/schedgen/runtime/status"
)

func main() {
	ctx := context.Background()
	comm, err := schedgen.Init(ctx)
	if err != nil {
		log.Fatal(err)
	}
	if _, err := status.Serve(ctx, ":0", status.Handler(status.Of(comm.Runtime()))); err != nil {
		log.Fatal(err)
	}
	if err := schedgen.Barrier(ctx, comm); err != nil {
		log.Fatal(err)
	}
}
