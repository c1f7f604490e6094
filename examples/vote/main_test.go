package main

import (
	"context"
	"errors"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/schedgen/schedgen"
	"github.com/schedgen/schedgen/runtime/mem"
)

// TestVote checks that all ranks stop with a small error, although only some ranks propose to stop.
func TestVote(t *testing.T) {
	for _, size := range []int{1, 2, 5, 8} {
		transports, err := mem.New(size, mem.Options{})
		require.NoError(t, err)
		errs := make([]error, size)
		var wg sync.WaitGroup
		for rank, tr := range transports {
			wg.Go(func() { errs[rank] = solveOver(t.Context(), tr) })
		}
		wg.Wait()
		require.NoError(t, errors.Join(errs...))
	}
}

func solveOver(ctx context.Context, tr *mem.Transport) error {
	comm, err := schedgen.Join(ctx, schedgen.Config{Transport: tr})
	if err != nil {
		return err
	}
	p := &part{rest: 1, rate: 0.3 + 0.1*float64(comm.Rank()%7)}
	_, err = solve(ctx, comm, p, 1e-9)
	if err == nil && !p.done(1e-9) {
		err = errors.New("a rank has stopped too early")
	}
	return errors.Join(err, comm.Close())
}

func TestByHand(t *testing.T) { require.NoError(t, run(t.Context(), 1e-3)) }
