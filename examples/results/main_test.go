package main

import (
	"context"
	"errors"
	"strings"
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

func TestPrimesAreCounted(t *testing.T) {
	var out strings.Builder
	ranks(t, 3, func(ctx context.Context, comm *schedgen.Comm) error { return count(ctx, comm, 100, &out) })
	require.Equal(t, `rank 0: 11 primes from 0 to 32
rank 1: 7 primes from 33 to 65
rank 2: 7 primes from 66 to 99
25 primes below 100
`, out.String())
}

// TestManyRanks runs more ranks than there are numbers.
func TestManyRanks(t *testing.T) {
	var out strings.Builder
	ranks(t, 7, func(ctx context.Context, comm *schedgen.Comm) error { return count(ctx, comm, 4, &out) })
	require.Contains(t, out.String(), "2 primes below 4\n")
}

func TestByHand(t *testing.T) { require.NoError(t, run(t.Context(), 10)) }
