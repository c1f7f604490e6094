package crew

import (
	"context"
	"errors"
	"sync"
	"testing"
	"testing/synctest"

	"github.com/stretchr/testify/require"

	"github.com/schedgen/schedgen/runtime"
	"github.com/schedgen/schedgen/runtime/mem"
)

// TestLatenessFindsAnEarlyLeaver runs barriers with each rank late. One of them does not wait for
// anybody at rank 1.
func TestLatenessFindsAnEarlyLeaver(t *testing.T) {
	const size = 4
	for _, broken := range []bool{false, true} {
		synctest.Test(t, func(t *testing.T) {
			net, err := mem.New(size, mem.Options{})
			require.NoError(t, err)
			var wrong [size]Findings
			var errs [size]error
			var wg sync.WaitGroup
			for rank := range size {
				wg.Go(func() {
					c, err := runtime.Join(t.Context(), runtime.Config{Transport: net[rank]})
					if err != nil {
						errs[rank] = err
						return
					}
					l := &lateness{comm: c, call: c.Barrier}
					if broken && rank == 1 {
						l.call = func(ctx context.Context) error {
							r, err := c.StartCollective(ctx, "barrier", nil, nil, 0)
							if err == nil {
								go r.Wait(ctx)
							}
							return err
						}
					}
					errs[rank] = errors.Join(l.end(t.Context(), &wrong[rank]), c.Barrier(t.Context()), c.Close())
				})
			}
			wg.Wait()
			require.NoError(t, errors.Join(errs[:]...))
			for rank, w := range wrong {
				switch {
				case broken && rank != 1:
					require.Equal(t, 1, w.Count)
					require.Contains(t, w.First, "rank 1 left a barrier before rank")
				default:
					require.Zero(t, w)
				}
			}
		})
	}
}
