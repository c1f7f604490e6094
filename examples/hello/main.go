// Hello broadcasts a line from rank 0 to all ranks and meets in a barrier. Every
// rank is a process; rank and size come from the launcher: mpirun, srun, torchrun
// …. Started by hand it is one rank. Rank 0's line is made of the arguments.
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

	msg, err := schedgen.BcastBytes(ctx, comm, []byte(line), 0) // only rank 0's counts
	if err != nil {
		return err
	}
	fmt.Printf("rank %d of %d has %q\n", comm.Rank(), comm.Size(), msg)
	return schedgen.Barrier(ctx, comm)
}
