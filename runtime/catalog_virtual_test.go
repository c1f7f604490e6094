package runtime_test

import (
	"bytes"
	"context"
	"testing"
	"testing/synctest"

	"github.com/stretchr/testify/require"

	"github.com/schedgen/schedgen/runtime"
	"github.com/schedgen/schedgen/runtime/mem"
	"github.com/schedgen/schedgen/schedule"
)

// A communicator of New runs what its catalog has, and refuses the rest.
func TestCatalog(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx := context.Background()
		ts, err := mem.New(3, mem.Options{})
		require.NoError(t, err)
		comms := make([]*runtime.Comm, len(ts))
		for rank := range ts {
			comms[rank], err = runtime.New(ctx, runtime.Config{Transport: ts[rank], Catalog: schedule.Broadcasts()})
			require.NoError(t, err)
		}
		require.NoError(t, each(comms, func(c *runtime.Comm) error {
			buf := make([]byte, 1000)
			if c.Rank() == 1 {
				copy(buf, bytes.Repeat([]byte("word"), 250))
			}
			if err := c.Bcast(ctx, buf, 1); err != nil {
				return err
			}
			require.Equal(t, bytes.Repeat([]byte("word"), 250), buf)
			require.NoError(t, c.Barrier(ctx))
			require.ErrorContains(t, c.Collective(ctx, "allgather", make([]byte, 3), make([]byte, 1), 0), "no rule chooses an algorithm for allgather")
			return c.Close()
		}))
	})
	for want, change := range map[string]func(*runtime.Config){
		"Config.Catalog: New needs one":                     func(cfg *runtime.Config) { cfg.Catalog = nil },
		"bcast/linear is not in Config.Catalog":             func(cfg *runtime.Config) { cfg.Algorithms = runtime.Algorithms{"bcast": {Name: "bcast/linear"}} },
		"Config.Network: only Join makes schedules for net": func(cfg *runtime.Config) { cfg.Network = parseNetwork(t, racks) },
	} {
		ts, err := mem.New(1, mem.Options{})
		require.NoError(t, err)
		cfg := runtime.Config{Transport: ts[0], Catalog: schedule.Broadcasts()}
		change(&cfg)
		_, err = runtime.New(context.Background(), cfg)
		require.ErrorIs(t, err, runtime.ErrInput)
		require.ErrorContains(t, err, want)
	}
}
