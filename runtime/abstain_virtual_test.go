package runtime_test

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/schedgen/schedgen/runtime"
	"github.com/schedgen/schedgen/runtime/mem"
)

// Join fails at one rank although the transport stands. The communicators of all other ranks then
// fail, and their errors name the rank and its reason. This also holds for ranks that join later.
func TestJoinThatFailsIsTold(t *testing.T) {
	over, cancel := context.WithCancel(context.Background())
	cancel()
	for name, c := range map[string]struct {
		ctx   context.Context
		cfg   runtime.Config
		words string
		is    error
	}{
		"field":     {context.Background(), runtime.Config{Chunk: -1}, "invalid argument: Config.Chunk is negative: -1", runtime.ErrInput},
		"algorithm": {context.Background(), runtime.Config{Algorithms: runtime.Algorithms{"bcast": {Name: "bcast/none"}}}, `no algorithm "bcast/none"`, runtime.ErrInput},
		"network":   {context.Background(), runtime.Config{Network: parseNetwork(t, racks)}, "Config.Network: it has 4 ranks", runtime.ErrInput},
		"nil":       {nil, runtime.Config{}, "the context is nil", runtime.ErrInput},
		"canceled":  {over, runtime.Config{}, "context canceled", context.Canceled},
	} {
		for _, size := range []int{2, 21} {
			for _, guilty := range []int{0, size - 1} {
				t.Run(fmt.Sprintf("%s/%d/%d", name, size, guilty), func(t *testing.T) {
					synctest.Test(t, func(t *testing.T) {
						ts, err := mem.New(size, mem.Options{})
						require.NoError(t, err)
						start := time.Now()
						comms := make([]*runtime.Comm, size)
						join := func(rank int) {
							if rank != guilty {
								comms[rank], err = runtime.Join(context.Background(), runtime.Config{Transport: ts[rank]})
								require.NoError(t, err)
							}
						}
						for rank := range size / 2 {
							join(rank)
						}
						cfg := c.cfg
						cfg.Transport = ts[guilty]
						_, err = runtime.Join(c.ctx, cfg)
						require.ErrorIs(t, err, c.is)
						require.ErrorContains(t, err, c.words)
						for rank := size / 2; rank < size; rank++ {
							join(rank)
						}
						require.NoError(t, each(comms, func(c2 *runtime.Comm) error {
							if c2 == nil {
								return nil
							}
							err := c2.Barrier(context.Background())
							var of *runtime.RankError
							if !errors.As(err, &of) || of.Rank != guilty || !errors.Is(err, runtime.ErrAborted) {
								return fmt.Errorf("rank %d: %w", c2.Rank(), err)
							}
							require.ErrorContains(t, err, c.words)
							return c2.Close()
						}))
						require.Less(t, time.Since(start), 2*time.Second)
					})
				})
			}
		}
	}
}
