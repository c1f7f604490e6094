package runtime_test

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

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

// The reason of a failure leaves with the call that fails, not when the
// background looks next: no time passes until the others know it.
func TestFailureIsToldAtOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		comms := group(t, 3, mem.Options{}, runtime.Config{})
		ctx, cancel := context.WithTimeout(context.Background(), 3500*time.Microsecond)
		defer cancel()
		require.ErrorIs(t, comms[0].Barrier(ctx), context.DeadlineExceeded)
		synctest.Wait()
		for _, c := range comms[1:] {
			require.ErrorIs(t, c.Err(), runtime.ErrAborted)
		}
		for _, c := range comms {
			require.NoError(t, c.Close())
		}
	})
}
