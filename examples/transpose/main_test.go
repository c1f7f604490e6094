package main

import (
	"context"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/schedgen/schedgen"
	"github.com/schedgen/schedgen/local"
)

// TestTranspose transposes matrices of several sizes, at several numbers of ranks.
func TestTranspose(t *testing.T) {
	for _, size := range []int{1, 2, 3, 5, 8} {
		for _, n := range []int{0, 1, 3, 8, 21} {
			require.NoError(t, local.Run(t.Context(), size, func(ctx context.Context, comm *schedgen.Comm) error {
				return check(ctx, comm, n)
			}))
		}
	}
}

func TestByHand(t *testing.T) { require.NoError(t, run(t.Context(), 10)) }
