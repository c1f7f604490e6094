package main

import (
	"context"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/schedgen/schedgen"
	"github.com/schedgen/schedgen/local"
)

// TestKmeans checks that all ranks find the same centres after the same number of steps. Other
// numbers of ranks find the same centres, except for rounding.
func TestKmeans(t *testing.T) {
	var alone []point
	for _, size := range []int{1, 2, 3, 5, 8} {
		centres, steps := make([][]point, size), make([]int, size)
		require.NoError(t, local.Run(t.Context(), size, func(ctx context.Context, comm *schedgen.Comm) (err error) {
			centres[comm.Rank()], steps[comm.Rank()], err = check(ctx, comm, 10_000)
			return err
		}))
		for rank := range size {
			require.Equal(t, centres[0], centres[rank])
			require.Equal(t, steps[0], steps[rank])
		}
		if size == 1 {
			alone = centres[0]
		}
		for i, c := range centres[0] {
			require.InDelta(t, alone[i].X, c.X, 1e-9, "%d ranks", size)
			require.InDelta(t, alone[i].Y, c.Y, 1e-9, "%d ranks", size)
		}
	}
}

// TestFewPoints checks that ranks without points take part.
func TestFewPoints(t *testing.T) {
	require.NoError(t, local.Run(t.Context(), 5, func(ctx context.Context, comm *schedgen.Comm) error {
		centres := []point{{0, 0}, {100, 100}}
		var own []point
		if comm.Rank() == 3 {
			own = []point{{1, 1}, {3, 5}}
		}
		if _, err := kmeans(ctx, comm, own, centres); err != nil {
			return err
		}
		require.Equal(t, []point{{2, 3}, {100, 100}}, centres)
		return nil
	}))
}

func TestByHand(t *testing.T) { require.NoError(t, run(t.Context(), 2000)) }
