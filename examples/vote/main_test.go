package main

import (
	"context"
	"errors"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/schedgen/schedgen"
	"github.com/schedgen/schedgen/local"
)

// TestVote checks that all ranks stop with a small error, although only some ranks propose to stop.
func TestVote(t *testing.T) {
	for _, size := range []int{1, 2, 5, 8} {
		require.NoError(t, local.Run(t.Context(), size, func(ctx context.Context, comm *schedgen.Comm) error {
			p := &part{rest: 1, rate: 0.3 + 0.1*float64(comm.Rank()%7)}
			_, err := solve(ctx, comm, p, 1e-9)
			if err == nil && !p.done(1e-9) {
				err = errors.New("a rank has stopped too early")
			}
			return err
		}))
	}
}

func TestByHand(t *testing.T) { require.NoError(t, run(t.Context(), 1e-3)) }
