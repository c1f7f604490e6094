package main

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/schedgen/schedgen"
	"github.com/schedgen/schedgen/runtime/mem"
)

// ranks runs f at size ranks, which are goroutines of this process. It returns the errors of the
// ranks.
func ranks(t *testing.T, size int, f func(ctx context.Context, comm *schedgen.Comm) error) []error {
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
	return errs
}

// TestTraining checks that the loss decreases, to about the same value for every number of ranks,
// and that all ranks have the same weights. A second run has the same weights, too.
func TestTraining(t *testing.T) {
	var alone float64
	for _, size := range []int{1, 2, 3, 5, 8} {
		once := func() (hash uint64) {
			require.NoError(t, errors.Join(ranks(t, size, func(ctx context.Context, comm *schedgen.Comm) error {
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
			})...))
			return hash
		}
		require.Equal(t, once(), once(), "%d ranks", size)
	}
}

// TestWeightsThatDiffer checks that a single different bit is noticed.
func TestWeightsThatDiffer(t *testing.T) {
	for rank, err := range ranks(t, 3, func(ctx context.Context, comm *schedgen.Comm) error {
		net := newNetwork(2, 3, 1)
		if comm.Rank() == 1 {
			net.layers[1].weights[2] *= 1 + 1e-15
		}
		_, err := net.sameEverywhere(ctx, comm)
		return err
	}) {
		require.ErrorContains(t, err, fmt.Sprintf("rank %d: weights differ", rank))
	}
}

// TestGradients compares the gradients with differences of the loss.
func TestGradients(t *testing.T) {
	require.NoError(t, errors.Join(ranks(t, 1, func(ctx context.Context, comm *schedgen.Comm) error {
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
	})...))
}

func TestByHand(t *testing.T) { require.NoError(t, run(t.Context(), 50, 5)) }
