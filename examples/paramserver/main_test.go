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

func TestAllRanksFindTheLine(t *testing.T) {
	want := line{Slope: 3, Shift: -1}
	for _, size := range []int{1, 2, 5} {
		var mu sync.Mutex
		var found []line
		ranks(t, size, func(ctx context.Context, comm *schedgen.Comm) error {
			l, err := fit(ctx, comm, measure(comm.Rank(), want), 500)
			mu.Lock()
			defer mu.Unlock()
			found = append(found, l)
			return err
		})
		for _, l := range found {
			require.Equal(t, found[0], l)
			require.InDelta(t, want.Slope, l.Slope, 0.02)
			require.InDelta(t, want.Shift, l.Shift, 0.02)
		}
	}
}

func TestByHand(t *testing.T) { require.NoError(t, run(t.Context(), 10)) }
