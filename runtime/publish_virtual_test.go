package runtime_test

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/schedgen/schedgen/runtime"
	"github.com/schedgen/schedgen/runtime/mem"
)

// Without a background, ranks answer inside calls: ranks that all flush answer each other, and a
// rank that computes delays a flush until its next call.
func TestFlushWithoutBackground(t *testing.T) {
	virtual(t, 5, mem.Options{}, runtime.Config{Waiting: runtime.Waiting{Idle: -1}}, func(comms []*runtime.Comm) {
		start := time.Now()
		require.NoError(t, each(comms, func(c *runtime.Comm) error {
			if err := c.Publish(context.Background(), []byte("all at once")); err != nil {
				return err
			}
			if err := c.Flush(context.Background()); err != nil {
				return err
			}
			return c.Barrier(context.Background())
		}))
		require.Less(t, time.Since(start), base)

		require.NoError(t, each(comms, func(c *runtime.Comm) error {
			if c.Rank() > 0 {
				time.Sleep(10 * time.Second) // virtual: it computes
				return c.Barrier(context.Background())
			}
			if err := c.Publish(context.Background(), []byte("is anybody there?")); err != nil {
				return err
			}
			if err := c.Flush(context.Background()); err != nil {
				return err
			}
			require.GreaterOrEqual(t, time.Since(start), 10*time.Second)
			return c.Barrier(context.Background())
		}))
		for rank, c := range comms[1:] {
			for range 5 {
				_, err := c.Next(context.Background())
				require.NoError(t, err, "rank %d", rank+1)
			}
		}
	})
}
