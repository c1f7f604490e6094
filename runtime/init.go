package runtime

import (
	"context"
	"fmt"
	"os"

	"github.com/schedgen/schedgen/runtime/launch"
)

// Init makes the communicator of all processes that a launcher has started with
// this one: mpirun of Open MPI or MPICH, srun, torchrun, an indexed job of Kubernetes,
// or whoever sets SCHEDGEN_RANK, SCHEDGEN_SIZE and SCHEDGEN_COORDINATOR. A process that was
// started by hand, without any of them, is rank 0 of 1. Init returns when all ranks
// have called it, or when ctx ends. It is Join with nothing chosen.
//
// Package launch says which variables are read, which transport is taken
// (SCHEDGEN_TRANSPORT) and where ranks meet. An error of the environment names the variables.
func Init(ctx context.Context) (*Comm, error) {
	return Join(ctx, Config{})
}

// connect gives cfg the transport that the environment says.
func (cfg *Config) connect(ctx context.Context) (err error) {
	if cfg.Transport != nil {
		return nil
	}
	if cfg.Transport, err = launch.Connect(ctx, os.Getenv, cfg.Clock); err != nil {
		return fmt.Errorf("connect as the environment says: %w", err)
	}
	return nil
}
