package runtime_test

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/schedgen/schedgen/runtime"
	"github.com/schedgen/schedgen/runtime/mem"
)

// The latency of an operation is the time from the call or the start to the end, here in virtual
// time: the ranks that have called wait a second for the late one.
func TestLatencies(t *testing.T) {
	cfg := runtime.Config{
		Algorithms: runtime.Algorithms{"barrier": {Name: "barrier/dissemination"}, "bcast": {Name: "bcast/linear"}},
		Observe:    runtime.Observe{Latency: true},
	}
	virtual(t, 3, mem.Options{}, cfg, func(comms []*runtime.Comm) {
		ctx := context.Background()
		require.NoError(t, each(comms, func(c *runtime.Comm) error {
			if c.Rank() == 2 {
				time.Sleep(time.Second) // virtual
			}
			if err := c.Barrier(ctx); err != nil {
				return err
			}
			for range 4 {
				if err := c.Bcast(ctx, make([]byte, 17), 0); err != nil {
					return err
				}
			}
			r, err := c.StartBarrier(ctx)
			if err != nil {
				return err
			}
			return r.Wait(ctx)
		}))
		for rank, c := range comms {
			all := c.State().Latencies
			require.Len(t, all, 2)
			barrier, bcast := all[0], all[1]
			require.Equal(t, []any{"barrier", "barrier/dissemination", 0}, []any{barrier.Collective, barrier.Algorithm, barrier.Bytes})
			require.Equal(t, []any{"bcast", "bcast/linear", 256}, []any{bcast.Collective, bcast.Algorithm, bcast.Bytes})
			want := map[time.Duration]uint64{512: 1, 1 << 30: 1} // 2³⁰ ns are the first bound of a second
			if rank == 2 {
				want = map[time.Duration]uint64{512: 2}
			}
			got, sum := map[time.Duration]uint64{}, uint64(0)
			for i, n := range barrier.Counts {
				if n > 0 {
					got[runtime.LatencyBound(i)] = n
				}
				sum += n + bcast.Counts[i]
			}
			require.Equal(t, want, got, "rank %d", rank)
			require.Equal(t, c.Totals().Operations, sum)
			require.Equal(t, time.Duration(want[1<<30])*time.Second, barrier.Sum)
		}
	})
}

// Without Observe.Latency nothing is counted.
func TestNoLatencies(t *testing.T) {
	comms := group(t, 2, mem.Options{}, runtime.Config{})
	require.NoError(t, each(comms, func(c *runtime.Comm) error { return c.Barrier(context.Background()) }))
	for _, c := range comms {
		require.Empty(t, c.State().Latencies)
		require.NoError(t, c.Close())
	}
}
