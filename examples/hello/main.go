// Hello broadcasts a line from rank 0 to all ranks and runs a barrier. Each rank is a process. A
// launcher, such as mpirun, srun or torchrun, sets the rank and the number of ranks; without a
// launcher there is one rank. Rank 0 makes the line from its arguments.
package main

import (
	"context"
	"fmt"
	"log"
	"os"
	"os/signal"
	"strings"

	"github.com/schedgen/schedgen"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	if err := hello(ctx, "hello "+strings.Join(os.Args[1:], " ")); err != nil {
		log.Fatal(err)
	}
}

func hello(ctx context.Context, line string) error {
	comm, err := schedgen.Init(ctx)
	if err != nil {
		return err
	}
	defer comm.Close()

	msg, err := schedgen.BcastBytes(ctx, comm, []byte(line), 0) // only rank 0's line is sent
	if err != nil {
		return err
	}
	fmt.Printf("rank %d of %d has %q\n", comm.Rank(), comm.Size(), msg)
	return schedgen.Barrier(ctx, comm)
}
