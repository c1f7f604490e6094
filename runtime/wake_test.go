package runtime_test

import (
	"context"
	"testing"
	"testing/synctest"

	"github.com/stretchr/testify/require"

	"github.com/schedgen/schedgen/runtime"
	"github.com/schedgen/schedgen/runtime/mem"
)

// Of several calls that wait under contexts of their own, each ends with its
// own, whichever came first.
func TestEachCallEndsWithItsContext(t *testing.T) {
	for first := range 3 {
		synctest.Test(t, func(t *testing.T) {
			comms := group(t, 2, mem.Options{}, runtime.Config{})
			errs := make([]chan error, 3)
			cancels := make([]context.CancelFunc, 3)
			for i := range errs {
				errs[i] = make(chan error, 1)
				var ctx context.Context
				ctx, cancels[i] = context.WithCancel(context.Background())
				go func() {
					_, err := comms[0].Next(ctx)
					errs[i] <- err
				}()
				synctest.Wait()
			}
			for i := range errs {
				k := (first + i) % len(errs)
				cancels[k]()
				require.ErrorIs(t, <-errs[k], context.Canceled)
			}
			for _, c := range comms {
				require.NoError(t, c.Close())
			}
		})
	}
}
