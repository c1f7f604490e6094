package runtime_test

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/schedgen/schedgen/runtime"
	"github.com/schedgen/schedgen/runtime/mem"
)

// A rank whose context ends while ranks shrink, and which then closes, is no member of the new
// communicator or fails it. No rank hangs, at whatever time that happens.
func TestLeavingWhileOthersShrink(t *testing.T) {
	const delay = time.Millisecond // of one message; two agreements take several
	var again atomic.Int64
	for after := time.Duration(0); after < 8*delay; after += delay / 8 {
		t.Run(fmt.Sprint(after), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				comms := group(t, 4, mem.Options{Delay: delay, Seed: uint64(after), Windows: true}, runtime.Config{})
				var wg sync.WaitGroup
				for _, c := range comms[:3] {
					wg.Go(func() {
						shrunk, err := c.Shrink(t.Context())
						if !assert.NoError(t, err) {
							return
						}
						ctx, cancel := context.WithTimeout(t.Context(), 5*time.Second)
						defer cancel()
						if shrunk.Size() == 3 {
							assert.NoError(t, shrunk.Barrier(ctx))
						} else if err := shrunk.Barrier(ctx); err != nil { // it is a member, and gone
							assert.NoError(t, ctx.Err(), "%v", err)
							if shrunk, err = shrunk.Shrink(ctx); !assert.NoError(t, err) {
								return
							}
							assert.Equal(t, 3, shrunk.Size())
							assert.NoError(t, shrunk.Barrier(ctx))
							again.Add(1)
						}
						assert.NoError(t, shrunk.Close())
					})
				}
				ctx, cancel := context.WithTimeout(t.Context(), after)
				defer cancel()
				shrunk, err := comms[3].Shrink(ctx)
				if err != nil {
					assert.NoError(t, comms[3].Close())
				} else {
					assert.NoError(t, shrunk.Barrier(t.Context()))
					assert.NoError(t, shrunk.Close())
				}
				wg.Wait()
			})
		})
	}
	t.Logf("shrunk again %d times", again.Load()/3)
	require.Positive(t, again.Load())
}

// An agreement that takes too long names the ranks that have not called, and can be called again.
func TestShrinkNamesWhoIsLate(t *testing.T) {
	const late = 3
	virtual(t, 4, mem.Options{}, runtime.Config{}, func(comms []*runtime.Comm) {
		again := make([]error, len(comms))
		require.NoError(t, each(comms, func(c *runtime.Comm) error {
			if c.Rank() == late {
				time.Sleep(5 * time.Second)
			} else {
				ctx, cancel := context.WithTimeout(context.Background(), 2*time.Second)
				defer cancel()
				_, again[c.Rank()] = c.Shrink(ctx)
			}
			shrunk, err := c.Shrink(context.Background())
			if err != nil {
				return err
			}
			return errors.Join(shrunk.Barrier(context.Background()), shrunk.Close())
		}))
		for rank, want := range []string{
			"one of ranks [2 3] is late: its call of Shrink has not arrived",
			"rank 0 has not passed on the result, and may still wait for it",
			"rank 3: its call of Shrink has not arrived",
		} {
			require.ErrorIs(t, again[rank], context.DeadlineExceeded)
			require.ErrorContains(t, again[rank], want)
		}
		var about *runtime.RankError
		require.ErrorAs(t, again[late-1], &about)
		require.Equal(t, late, about.Rank)
	})
}
