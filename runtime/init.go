package runtime

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"

	"github.com/schedgen/schedgen/runtime/launch"
	"github.com/schedgen/schedgen/schedule/selection"
)

// Init makes the communicator of all processes that a launcher has started with
// this one: mpirun of Open MPI or MPICH, srun, torchrun, an indexed job of Kubernetes,
// or whoever sets SCHEDGEN_RANK, SCHEDGEN_SIZE and SCHEDGEN_COORDINATOR. A process that was
// started by hand, without any of them, is rank 0 of 1. Init returns when all ranks
// have called it, or when ctx ends. It is Join with nothing chosen.
//
// Package launch says which variables are read, which transport is taken
// (SCHEDGEN_TRANSPORT) and where ranks meet. SCHEDGEN_RULES names a file of rules that choose algorithms,
// the same at all ranks (package selection). An error of the environment names the variables.
func Init(ctx context.Context) (*Comm, error) {
	return Join(ctx, Config{})
}

// connect gives cfg the rules and the transport that the environment says.
func (cfg *Config) connect(ctx context.Context) (err error) {
	if cfg.Transport != nil {
		return nil
	}
	if name := os.Getenv("SCHEDGEN_RULES"); name != "" && cfg.Rules == nil {
		if cfg.Rules, err = readRules(name); err != nil {
			return fmt.Errorf("SCHEDGEN_RULES: %s: %w", name, err)
		}
	}
	if cfg.Transport, err = launch.Connect(ctx, os.Getenv, cfg.Clock); err != nil {
		return fmt.Errorf("connect as the environment says: %w", err)
	}
	return nil
}

// readRules reads a file of rules.
func readRules(name string) (rules *selection.Rules, err error) {
	f, err := os.Open(name)
	var cause *os.PathError
	if errors.As(err, &cause) {
		return nil, cause.Err
	}
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	data, err := io.ReadAll(io.LimitReader(f, selection.MaxFile+1))
	if err != nil {
		return nil, err
	}
	return selection.Parse(data)
}
