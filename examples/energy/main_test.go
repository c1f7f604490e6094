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

// TestEnergy checks that the exact sum has the same bits for every number of ranks, even if some
// ranks have no particles. The plain sum does not.
func TestEnergy(t *testing.T) {
	for _, n := range []int{0, 1, 4, 10_000} {
		exact, plain := make(map[float64]bool), make(map[float64]bool)
		for size := 1; size <= 9; size++ {
			got := make([]energies, size)
			ranks(t, size, func(ctx context.Context, comm *schedgen.Comm) (err error) {
				got[comm.Rank()], err = check(ctx, comm, n)
				return err
			})
			for _, e := range got {
				require.Equal(t, got[0], e)
				exact[e.exact], plain[e.plain] = true, true
			}
		}
		require.Len(t, exact, 1, "%d particles", n)
		if n == 10_000 {
			require.Greater(t, len(plain), 1)
		}
	}
}

func TestByHand(t *testing.T) { require.NoError(t, run(t.Context(), 1000)) }
