package hybrid_test

import (
	"context"
	"fmt"
	"log"
	"net"
	"sync"

	"github.com/schedgen/schedgen/runtime"
	"github.com/schedgen/schedgen/runtime/hybrid"
	"github.com/schedgen/schedgen/runtime/tcp"
)

// Ranks of a job are processes on several hosts; here they are goroutines.
func ExampleJoin() {
	ctx := context.Background()
	door, err := net.Listen("tcp", "127.0.0.1:0") // a job has a fixed port
	if err != nil {
		log.Fatal(err)
	}
	var ranks sync.WaitGroup
	for rank := range 2 {
		ranks.Go(func() {
			cfg := tcp.Config{Rank: rank, Size: 2, Job: "night", Coordinator: door.Addr().String()}
			if rank == 0 {
				cfg.Listener = door
			}
			t, err := hybrid.Join(ctx, hybrid.Config{TCP: cfg})
			if err != nil {
				log.Fatal(err)
			}
			comm, err := runtime.Join(ctx, runtime.Config{Transport: t})
			if err != nil {
				log.Fatal(err)
			}
			if err := comm.Barrier(ctx); err != nil {
				log.Fatal(err)
			}
			if rank == 0 {
				fmt.Println("both ranks have come")
			}
			if err := comm.Close(); err != nil {
				log.Fatal(err)
			}
		})
	}
	ranks.Wait()
	// Output: both ranks have come
}
