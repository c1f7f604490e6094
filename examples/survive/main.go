// Survive continues without a rank that dies. The last rank kills itself in the middle of the work.
// The others learn which rank is lost, shrink the communicator and finish the work without it.
//
// Many launchers end all ranks when one dies:
//
//	mpirun -n 4 ./survive                       Open MPI ends all ranks; MPICH does so, or hangs while it tries
//	mpirun --enable-recovery -n 4 ./survive     Open MPI 4: the others live on
//	mpirun -n 4 sh -c './survive || true'       Open MPI and MPICH: the others live on, because mpirun sees no death; it exits with 0
//
// MPICH has no flag that reliably keeps the other ranks: with -disable-auto-cleanup they may live
// on or be ended.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"log"
	"os"
	"os/signal"
	"time"

	"github.com/schedgen/schedgen"
)

func main() {
	work := flag.Duration("work", time.Second, "time that the other ranks work after the death")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	if err := survive(ctx, *work); err != nil {
		log.Fatal(err)
	}
}

func survive(ctx context.Context, work time.Duration) error {
	comm, err := schedgen.Init(ctx)
	if err != nil {
		return err
	}
	defer func() { comm.Close() }()
	if err := schedgen.Barrier(ctx, comm); err != nil {
		return err
	}
	if comm.Rank() == comm.Size()-1 {
		return die()
	}

	var lost *schedgen.LostError // its Ranks are the same at all surviving ranks
	if err := schedgen.Barrier(ctx, comm); !errors.As(err, &lost) {
		return fmt.Errorf("a barrier with a dead rank: %w", err)
	}
	next, err := comm.Shrink(ctx) // if it fails, the deferred Close still has comm
	if err != nil {
		return err
	}
	comm = next
	time.Sleep(work)
	if err := schedgen.Barrier(ctx, comm); err != nil {
		return err
	}
	fmt.Printf("rank %d of %d goes on without ranks %v\n", comm.Rank(), comm.Size(), lost.Ranks)
	return nil
}

// die kills this process at once. The other ranks get no message.
func die() error {
	self, err := os.FindProcess(os.Getpid())
	if err != nil {
		return err
	}
	if err := self.Kill(); err != nil {
		return err
	}
	select {}
}
