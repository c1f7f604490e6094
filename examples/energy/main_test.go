package main

import (
	"context"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/schedgen/schedgen"
	"github.com/schedgen/schedgen/local"
)

// TestEnergy checks that the exact sum has the same bits for every number of ranks, even if some
// ranks have no particles. The plain sum does not.
func TestEnergy(t *testing.T) {
	for _, n := range []int{0, 1, 4, 10_000} {
		exact, plain := make(map[float64]bool), make(map[float64]bool)
		for size := 1; size <= 9; size++ {
			got := make([]energies, size)
			require.NoError(t, local.Run(t.Context(), size, func(ctx context.Context, comm *schedgen.Comm) (err error) {
				got[comm.Rank()], err = check(ctx, comm, n)
				return err
			}))
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
