package main

import (
	"context"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/schedgen/schedgen"
	"github.com/schedgen/schedgen/local"
)

func TestPrimesAreCounted(t *testing.T) {
	var out strings.Builder
	require.NoError(t, local.Run(t.Context(), 3, func(ctx context.Context, comm *schedgen.Comm) error { return count(ctx, comm, 100, &out) }))
	require.Equal(t, `rank 0: 11 primes from 0 to 32
rank 1: 7 primes from 33 to 65
rank 2: 7 primes from 66 to 99
25 primes below 100
`, out.String())
}

// TestManyRanks runs more ranks than there are numbers.
func TestManyRanks(t *testing.T) {
	var out strings.Builder
	require.NoError(t, local.Run(t.Context(), 7, func(ctx context.Context, comm *schedgen.Comm) error { return count(ctx, comm, 4, &out) }))
	require.Contains(t, out.String(), "2 primes below 4\n")
}

func TestByHand(t *testing.T) { require.NoError(t, run(t.Context(), 10)) }
