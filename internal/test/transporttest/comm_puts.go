package transporttest

import (
	"context"
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/schedgen/schedgen/internal/test/heavy"
	"github.com/schedgen/schedgen/runtime"
	"github.com/schedgen/schedgen/schedule"
)

// putters are the broadcasts that use only puts.
func (s *scope) putters(yield func(name string) bool) {
	for name := range s.broadcasts {
		spec, err := schedule.New(name, schedule.Params{Ranks: 2})
		if err == nil && !spec.Header().Recovers && !yield(name) {
			return
		}
	}
}

// testPuts broadcasts messages of all lengths from all ranks by puts. No rank waits for the others,
// and one after the other is late. A message must stay until all ranks have it, whatever way it
// takes.
func testPuts(t *testing.T, with network) {
	lengths := []int{0, 2, 48, 49, 2 << 10, 5000, 9000, 20000, 64 << 10, 300000, 700000}
	rounds := heavy.Or(60, 100)
	for name := range with.putters {
		for _, ranks := range with.puts {
			with.run(t, fmt.Sprintf("%s/ranks=%d", name, ranks), func(t *testing.T) {
				comms := join(t, with, ranks, runtime.Config{Algorithms: runtime.Algorithms{"bcast": {Name: name}}})
				all(t, comms, func(ctx context.Context, c *runtime.Comm) error {
					buf := buffer(lengths[len(lengths)-1])
					random := rand.New(rand.NewPCG(1, 2)) // the same at all ranks
					for i := range uint64(rounds) {
						n, root, late := random.IntN(len(lengths)), random.IntN(ranks), random.IntN(ranks)
						if i%3 > 0 {
							n %= 5
						}
						if c.Rank() == late {
							time.Sleep(20 * time.Microsecond) // its process computes
						}
						if err := bcast(ctx, c, i, buf[:lengths[n]], root); err != nil {
							return err
						}
					}
					return nil
				})
			})
		}
	}
}

// testLent: a buffer that a rank is about to lend, or has lent, belongs to the rank again when its
// call has been cancelled, and all ranks get that error.
func testLent(t *testing.T, with network) {
	const n = 256 << 10
	for name := range with.putters {
		with.run(t, name, func(t *testing.T) {
			comms := join(t, with, 3, runtime.Config{Algorithms: runtime.Algorithms{"bcast": {Name: name}}})
			given := signal()
			errs := each(t, comms, func(ctx context.Context, c *runtime.Comm) error {
				buf := buffer(n)
				if c.Rank() == 0 {
					ctx, cancel := context.WithCancel(ctx)
					go func() { stalledAt(c); cancel() }()
					defer close(given)
					defer clear(buf)
					for {
						if err := c.Bcast(ctx, buf, 0); err != nil {
							return err
						}
					}
				}
				<-given
				return untilFailed(ctx, c, func(ctx context.Context, c *runtime.Comm) error { return c.Bcast(ctx, buf, 0) })
			})
			for rank, err := range errs {
				require.ErrorIs(t, err, context.Canceled, "rank %d", rank)
			}
		})
	}
}
