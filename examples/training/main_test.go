package main

import (
	"context"
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/schedgen/schedgen"
	"github.com/schedgen/schedgen/local"
)

// TestTraining checks that the loss decreases, to about the same value for every number of ranks,
// and that all ranks have the same weights. A second run has the same weights, too.
func TestTraining(t *testing.T) {
	var alone float64
	for _, size := range []int{1, 2, 3, 5, 8} {
		once := func() (hash uint64) {
			require.NoError(t, local.Run(t.Context(), size, func(ctx context.Context, comm *schedgen.Comm) error {
				before, after, own, err := train(ctx, comm, 200, 60)
				if err == nil && after > before/2 {
					err = fmt.Errorf("loss %v before and %v after", before, after)
				}
				if comm.Rank() == 0 {
					hash = own
					if size == 1 {
						alone = after
					}
					require.InEpsilon(t, alone, after, 1e-6)
				}
				return err
			}))
			return hash
		}
		require.Equal(t, once(), once(), "%d ranks", size)
	}
}

// TestWeightsThatDiffer checks that a single different bit is noticed.
func TestWeightsThatDiffer(t *testing.T) {
	errs := make([]error, 3)
	require.NoError(t, local.Run(t.Context(), len(errs), func(ctx context.Context, comm *schedgen.Comm) error {
		net := newNetwork(2, 3, 1)
		if comm.Rank() == 1 {
			net.layers[1].weights[2] *= 1 + 1e-15
		}
		_, errs[comm.Rank()] = net.sameEverywhere(ctx, comm)
		return nil
	}))
	for rank, err := range errs {
		require.ErrorContains(t, err, fmt.Sprintf("rank %d: weights differ", rank))
	}
}

// TestGradients compares the gradients with differences of the loss.
func TestGradients(t *testing.T) {
	require.NoError(t, local.Run(t.Context(), 1, func(ctx context.Context, comm *schedgen.Comm) error {
		own := []sample{sampleAt(1), sampleAt(2), sampleAt(3)}
		loss := func(l, w int, by float64) float64 {
			net := newNetwork(2, 3, 3, 1)
			net.layers[l].weights[w] += by
			got, err := net.step(ctx, comm, own, len(own))
			require.NoError(t, err)
			return got
		}
		net := newNetwork(2, 3, 3, 1)
		_, err := net.step(ctx, comm, own, len(own))
		for l := range net.layers {
			for w, g := range net.layers[l].gradient {
				const by = 1e-6
				require.InDelta(t, (loss(l, w, by)-loss(l, w, -by))/(2*by), 2*g/float64(len(own)), 1e-7)
			}
		}
		return err
	}))
}

func TestByHand(t *testing.T) { require.NoError(t, run(t.Context(), 50, 5)) }
