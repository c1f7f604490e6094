package runtime_test

import (
	"context"
	"log/slog"
	goruntime "runtime"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/schedgen/schedgen/runtime"
	"github.com/schedgen/schedgen/runtime/mem"
)

// A warm communicator allocates nothing for an operation, also when several communicators share a
// transport.
func TestWarmOperationsDoNotAllocate(t *testing.T) {
	const rounds = 2000
	comms := group(t, 4, mem.Options{Queue: 4096}, runtime.Config{
		Algorithms: runtime.Algorithms{"bcast": {Name: "bcast/mcast-acktree"}},
		Observe:    runtime.Observe{Log: slog.New(slog.DiscardHandler), Latency: true},
	})
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	reversed := make([]*runtime.Comm, len(comms))
	require.NoError(t, each(comms, func(c *runtime.Comm) (err error) {
		reversed[c.Rank()], err = c.Split(ctx, 0, -c.Rank())
		return err
	}))
	for _, list := range [][]*runtime.Comm{comms, reversed} {
		run := func(rounds int) error {
			return each(list, func(c *runtime.Comm) error {
				buf := make([]byte, 2048)
				for i := range rounds {
					if err := c.Bcast(ctx, buf, i%4); err != nil {
						return err
					}
					if err := c.Barrier(ctx); err != nil {
						return err
					}
				}
				return nil
			})
		}
		require.NoError(t, run(500))
		var before, after goruntime.MemStats
		goruntime.ReadMemStats(&before)
		require.NoError(t, run(rounds))
		goruntime.ReadMemStats(&after)
		// The runs themselves and the garbage collector allocate a little.
		perOperation := float64(after.Mallocs-before.Mallocs) / (2 * rounds * 4)
		require.Less(t, perOperation, 0.05)
	}
	for _, c := range append(comms, reversed...) {
		require.NoError(t, c.Close())
	}
}
