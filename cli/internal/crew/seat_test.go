package crew

import (
	"context"
	"errors"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/schedgen/schedgen/runtime"
	"github.com/schedgen/schedgen/runtime/mem"
)

// TestLongAccountsAreGathered gathers accounts that are longer than one message may be.
func TestLongAccountsAreGathered(t *testing.T) {
	const size, samples = 3, 300_000
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	net, err := mem.New(size, mem.Options{})
	require.NoError(t, err)
	mine, errs := make([]*account, size), make([]error, size)
	var all []*account
	var wg sync.WaitGroup
	for rank := range size {
		mine[rank] = &account{Rank: rank, Samples: make([]int64, samples*rank), Outcome: &Outcome{Replied: make([]int64, samples)}}
		for i := range mine[rank].Samples {
			mine[rank].Samples[i] = int64(i * rank)
		}
		wg.Go(func() {
			c, err := runtime.Join(ctx, runtime.Config{Transport: net[rank]})
			if err != nil {
				errs[rank] = err
				return
			}
			got, err := gather(ctx, c, mine[rank])
			if err == nil {
				err = c.Barrier(ctx)
			}
			errs[rank] = errors.Join(err, c.Close())
			if rank == 0 {
				all = got
			}
		})
	}
	wg.Wait()
	require.NoError(t, errors.Join(errs...))
	for _, a := range all {
		require.Equal(t, mine[a.Rank], a)
	}
	require.Len(t, all, size)
}
