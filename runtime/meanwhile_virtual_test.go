package runtime_test

import (
	"context"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/schedgen/schedgen/runtime"
	"github.com/schedgen/schedgen/runtime/mem"
)

// counting returns a Config whose Meanwhile counts its calls.
func counting() (cfg runtime.Config, calls *atomic.Int64) {
	calls = new(atomic.Int64)
	return runtime.Config{Meanwhile: func() { calls.Add(1) }}, calls
}

// lateBarrier is a barrier that rank 1 enters late.
func lateBarrier(c *runtime.Comm) error {
	if c.Rank() == 1 {
		time.Sleep(100 * time.Millisecond) // virtual
	}
	return c.Barrier(context.Background())
}

// A caller that waits calls Meanwhile at least about every millisecond; the background does not.
func TestMeanwhile(t *testing.T) {
	cfg, calls := counting()
	virtual(t, 2, mem.Options{}, cfg, func(comms []*runtime.Comm) {
		require.NoError(t, each(comms, lateBarrier))
		before := calls.Load()
		require.GreaterOrEqual(t, before, int64(90))
		time.Sleep(time.Second)
		require.Equal(t, before, calls.Load())
	})
}

// A caller that sleeps while another one drives calls Meanwhile, too.
func TestMeanwhileBesideOthers(t *testing.T) {
	cfg, calls := counting()
	virtual(t, 2, mem.Options{}, cfg, func(comms []*runtime.Comm) {
		ctx, cancel := context.WithCancel(context.Background())
		got := make(chan error)
		go func() {
			_, err := comms[0].Next(ctx)
			got <- err
		}()
		time.Sleep(time.Millisecond)
		require.NoError(t, each(comms, lateBarrier))
		require.GreaterOrEqual(t, calls.Load(), int64(180))
		cancel()
		require.ErrorIs(t, <-got, context.Canceled)
	})
}
