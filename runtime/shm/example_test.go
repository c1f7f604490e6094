package shm_test

import (
	"context"
	"fmt"
	"log"
	"sync"

	"github.com/schedgen/schedgen/runtime"
	"github.com/schedgen/schedgen/runtime/shm"
)

// Ranks are processes that inherit the file of the segment; here they are goroutines.
func ExampleCreate() {
	ctx := context.Background()
	segment, err := shm.Create(2)
	if err != nil {
		log.Fatal(err)
	}
	defer segment.Close()
	var ranks sync.WaitGroup
	for rank := range 2 {
		ranks.Go(func() {
			t, err := shm.Join(ctx, shm.Config{Rank: rank, Size: 2, File: segment})
			if err != nil {
				log.Fatal(err)
			}
			comm, err := runtime.Join(ctx, runtime.Config{Transport: t})
			if err != nil {
				log.Fatal(err)
			}
			defer comm.Close()
			if err := comm.Barrier(ctx); err != nil {
				log.Fatal(err)
			}
			if rank == 0 {
				fmt.Println("both ranks have come")
			}
		})
	}
	ranks.Wait()
	// Output: both ranks have come
}
