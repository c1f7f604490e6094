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

// ranks runs f at size ranks, which are goroutines of this process.
func ranks(t *testing.T, size int, f func(ctx context.Context, comm *schedgen.Comm) error) {
	transports, err := mem.New(size, mem.Options{})
	require.NoError(t, err)
	errs := make([]error, size)
	var wg sync.WaitGroup
	for rank, tr := range transports {
		wg.Go(func() {
			comm, err := schedgen.Join(t.Context(), schedgen.Config{Transport: tr})
			if err != nil {
				errs[rank] = err
				return
			}
			errs[rank] = errors.Join(f(t.Context(), comm), comm.Close())
		})
	}
	wg.Wait()
	require.NoError(t, errors.Join(errs...))
}

// TestTranspose transposes matrices of several sizes, at several numbers of ranks.
func TestTranspose(t *testing.T) {
	for _, size := range []int{1, 2, 3, 5, 8} {
		for _, n := range []int{0, 1, 3, 8, 21} {
			ranks(t, size, func(ctx context.Context, comm *schedgen.Comm) error {
				return check(ctx, comm, n)
			})
		}
	}
}

func TestByHand(t *testing.T) { require.NoError(t, run(t.Context(), 10)) }
