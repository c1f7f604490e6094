package transporttest

import (
	"context"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/schedgen/schedgen/runtime"
)

// operations are the calls in which all ranks take part.
var operations = map[string]func(ctx context.Context, c *runtime.Comm) error{
	"Bcast":   func(ctx context.Context, c *runtime.Comm) error { return c.Bcast(ctx, buffer(8), 1) },
	"Barrier": func(ctx context.Context, c *runtime.Comm) error { return c.Barrier(ctx) },
	"BcastBytes": func(ctx context.Context, c *runtime.Comm) error {
		_, err := c.BcastBytes(ctx, nil, 1)
		return err
	},
	"StartBcast": func(ctx context.Context, c *runtime.Comm) error {
		r, err := c.StartBcast(ctx, buffer(8), 1)
		return waited(ctx, r, err)
	},
	"StartBarrier": func(ctx context.Context, c *runtime.Comm) error {
		r, err := c.StartBarrier(ctx)
		return waited(ctx, r, err)
	},
	"Dup": func(ctx context.Context, c *runtime.Comm) error {
		_, err := c.Dup(ctx)
		return err
	},
}

func waited(ctx context.Context, r *runtime.Request, err error) error {
	if err != nil {
		return err
	}
	return r.Wait(ctx)
}

// testBelated: a rank that calls with a context that has ended fails the communicator at all ranks.
// If it only missed that operation, it would mistake each later operation for the one before.
func testBelated(t *testing.T, with network) {
	for name, call := range operations {
		with.run(t, name, func(t *testing.T) {
			ended, cancel := context.WithCancel(t.Context())
			cancel()
			comms := join(t, with, 3, runtime.Config{})
			all(t, comms, func(ctx context.Context, c *runtime.Comm) error { return c.Barrier(ctx) })
			errs := each(t, comms, func(ctx context.Context, c *runtime.Comm) error {
				if c.Rank() == 2 {
					ctx = ended
				}
				if err := call(ctx, c); err != nil {
					return err
				}
				return c.Barrier(t.Context()) // a root may have returned without an error
			})
			for rank, err := range errs {
				require.ErrorIs(t, err, context.Canceled, "rank %d", rank)
				require.ErrorContains(t, err, "the context had ended before the call", "rank %d", rank)
				require.ErrorContains(t, err, "rank 2", "rank %d", rank)
			}
			require.ErrorIs(t, comms[2].Barrier(t.Context()), context.Canceled, "a failed communicator stays failed")
		})
	}
}
