package main

import (
	"context"
	"math"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/schedgen/schedgen"
	"github.com/schedgen/schedgen/local"
)

// TestMean checks that the moments are right for every number of ranks, even if some ranks have no
// numbers, and that all ranks get the same bits.
func TestMean(t *testing.T) {
	for _, size := range []int{1, 2, 3, 5, 8} {
		for _, n := range []int{0, 1, 4, 10_000} {
			got := make([]moments, size)
			require.NoError(t, local.Run(t.Context(), size, func(ctx context.Context, comm *schedgen.Comm) (err error) {
				got[comm.Rank()], err = check(ctx, comm, n)
				return err
			}))
			for _, m := range got {
				require.Equal(t, got[0], m)
				require.EqualValues(t, n, m.N)
			}
		}
	}
}

// TestMeanOfSquaresFails shows that the mean of the squares minus the square of the mean is far
// from the variance of the same numbers.
func TestMeanOfSquaresFails(t *testing.T) {
	const n, want = 10, 8.25
	sum, squares := 0.0, 0.0
	var m moments
	for i := range n {
		x := offset + float64(i)
		sum, squares = sum+x, squares+x*x
		m = m.joined(moments{N: 1, Mean: x})
	}
	require.Greater(t, math.Abs(squares/n-sum/n*(sum/n)-want), 0.9*want)
	require.InEpsilon(t, want, m.variance(), 1e-6)
}

func TestByHand(t *testing.T) { require.NoError(t, run(t.Context(), 1000)) }
