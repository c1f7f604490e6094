// Hello broadcasts a line from rank 0 to all ranks and meets in a barrier. Every
// rank is a process; rank and size come from the launcher (mpirun, srun,
// torchrun …) or from SCHEDGEN_RANK and SCHEDGEN_SIZE. The argument is an address
// of rank 0.
package main

import (
	"context"
	"fmt"
	"log"
	"os"
	"os/signal"

	"github.com/schedgen/schedgen/runtime"
	"github.com/schedgen/schedgen/runtime/tcp"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	if len(os.Args) != 2 {
		log.Fatal("usage: hello HOST:PORT, where rank 0 is to be met")
	}
	if err := hello(ctx, os.Args[1]); err != nil {
		log.Fatal(err)
	}
}

func hello(ctx context.Context, coordinator string) error {
	place, err := runtime.FindPlace(os.Getenv)
	if err != nil {
		return err
	}
	tr, err := tcp.Join(ctx, tcp.Config{Rank: place.Rank, Size: place.Size, Coordinator: coordinator})
	if err != nil {
		return err
	}
	comm, err := runtime.Join(ctx, runtime.Config{Transport: tr})
	if err != nil {
		return err
	}
	defer comm.Close()

	const greeting = "hello from rank 0"
	line := make([]byte, len(greeting)) // every rank gives the same length
	if comm.Rank() == 0 {
		copy(line, greeting)
	}
	if err := comm.Bcast(ctx, line, 0); err != nil {
		return err
	}
	fmt.Printf("rank %d of %d has %q\n", comm.Rank(), comm.Size(), line)
	return comm.Barrier(ctx)
}
