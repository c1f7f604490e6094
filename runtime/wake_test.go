package runtime_test

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/schedgen/schedgen/runtime"
	"github.com/schedgen/schedgen/runtime/mem"
	"github.com/schedgen/schedgen/runtime/wire"
)

// Of several calls that wait under different contexts, each ends with its own context, whichever
// call came first.
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

// The reason of a failure leaves with the failing call, not at the background's next look: no time
// passes until the others know it.
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

// polling counts the polls of a transport.
type polling struct {
	wire.Transport
	polls *int
}

func (p polling) Poll(sink wire.Sink) bool {
	*p.polls++
	return p.Transport.Poll(sink)
}

// A call that waits for something else all the time, such as a message, does not poll while the
// call that broadcasts arrive at polls.
func TestOneCallPolls(t *testing.T) {
	polls := func(t *testing.T, waits bool) (n int) {
		synctest.Test(t, func(t *testing.T) {
			ts, err := mem.New(2, mem.Options{})
			require.NoError(t, err)
			comms := make([]*runtime.Comm, 2)
			for r, tr := range []wire.Transport{ts[0], polling{ts[1], &n}} {
				comms[r], err = runtime.Join(t.Context(), runtime.Config{Transport: tr, Waiting: runtime.Waiting{Idle: -1}})
				require.NoError(t, err)
			}
			ctx, cancel := context.WithCancel(t.Context())
			next := make(chan error, 1)
			if waits {
				go func() {
					_, err := comms[1].Next(ctx)
					next <- err
				}()
			}
			require.NoError(t, each(comms, func(c *runtime.Comm) error {
				for range 50 {
					if c.Rank() == 0 {
						time.Sleep(time.Millisecond)
					}
					if err := c.Bcast(t.Context(), make([]byte, 64), 0); err != nil {
						return err
					}
				}
				return nil
			}))
			cancel()
			if waits {
				require.ErrorIs(t, <-next, context.Canceled)
			}
			for _, c := range comms {
				require.NoError(t, c.Close())
			}
		})
		return n
	}
	alone, beside := polls(t, false), polls(t, true)
	require.Less(t, beside, 3*alone/2, "%d polls where one call waits", alone)
}
