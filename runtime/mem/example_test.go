package mem_test

import (
	"context"
	"fmt"
	"log"
	"sync"

	"github.com/schedgen/schedgen/runtime"
	"github.com/schedgen/schedgen/runtime/mem"
)

func ExampleNew() {
	ctx := context.Background()
	ts, err := mem.New(3, mem.Options{})
	if err != nil {
		log.Fatal(err)
	}
	var ranks sync.WaitGroup
	for _, t := range ts {
		ranks.Go(func() {
			comm, err := runtime.Join(ctx, runtime.Config{Transport: t})
			if err != nil {
				log.Fatal(err)
			}
			defer comm.Close()
			buf := []byte("?????")
			if comm.Rank() == 0 {
				copy(buf, "hello")
			}
			if err := comm.Bcast(ctx, buf, 0); err != nil {
				log.Fatal(err)
			}
			if comm.Rank() == 2 {
				fmt.Printf("%s\n", buf)
			}
		})
	}
	ranks.Wait()
	// Output: hello
}
