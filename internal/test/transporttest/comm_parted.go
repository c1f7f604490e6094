package transporttest

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/schedgen/schedgen/internal/test/heavy"
	"github.com/schedgen/schedgen/runtime"
)

// parting is a call that differs between one rank and the others, once.
type parting struct {
	name string
	call func(rank, odd, bytes int) call
}

var partings = []parting{
	{"roots", func(rank, _, bytes int) call { return bcastOf(bytes, rank) }},
	{"root", func(rank, odd, bytes int) call {
		if rank == odd {
			return bcastOf(bytes, odd)
		}
		return bcastOf(bytes, (odd+1)%2)
	}},
	{"size", func(rank, odd, bytes int) call {
		if rank == odd {
			return bcastOf(bytes-1, 0)
		}
		return bcastOf(bytes, 0)
	}},
	{"root and size", func(rank, odd, bytes int) call {
		if rank == odd {
			return bcastOf(2*bytes, odd)
		}
		return bcastOf(bytes, (odd+1)%2)
	}},
	{"collective", func(rank, odd, bytes int) call {
		if rank == odd {
			return barrier
		}
		return bcastOf(bytes, 0)
	}},
	{"collective of the root", func(rank, odd, bytes int) call {
		if rank == odd {
			return bcastOf(bytes, odd)
		}
		return barrier
	}},
}

// partedSizes are messages that take different ways in shared memory: in the line of a flag, copied
// beside the flag, by a ring or lent, and in chunks.
var partedSizes = []int{2, 1000, 64 << 10, 1 << 20}

// testSplitParted: ranks whose calls differ in a duplicated communicator fail too, and the original
// communicator continues.
func testSplitParted(t *testing.T, with network) {
	for _, bytes := range partedSizes {
		with.run(t, fmt.Sprintf("%dB", bytes), func(t *testing.T) {
			comms := join(t, with, 3, runtime.Config{Stall: 20 * time.Millisecond})
			apart := derive(t, comms, func(ctx context.Context, c *runtime.Comm) (*runtime.Comm, error) { return c.Dup(ctx) })
			requirePart(t, apart, 0, func(rank int) call { return bcastOf(bytes, rank) })
			all(t, comms, barrier)
		})
	}
}

// testParted: if the calls of ranks differ once, all ranks fail, at the latest in the barrier after
// it, even if the call has returned everywhere. All errors name the call. A root waits for no rank,
// so it learns of the difference only later. Without SCHEDGEN_HEAVY, the odd rank and the number of
// earlier calls rotate.
func testParted(t *testing.T, with network) {
	for _, ranks := range []int{2, 3, 5} {
		for j, p := range partings {
			for k, bytes := range partedSizes {
				with.run(t, fmt.Sprintf("%s/ranks=%d/%dB", p.name, ranks, bytes), func(t *testing.T) {
					for _, i := range heavy.Or([]int{ranks + j + k}, []int{0, 1, 2, 3, 4, 5, 6, 7, 8, 9}) {
						testPartedOnce(t, with, ranks, (1+i)%ranks, i%3, func(rank, odd int) call { return p.call(rank, odd, bytes) })
					}
				})
			}
		}
	}
	t.Run("always", func(t *testing.T) { testRootsAlways(t, with) })
}

// testRootsAlways: if every rank takes itself for the root of every broadcast, no rank waits for
// another, and they find the error nevertheless.
func testRootsAlways(t *testing.T, with network) {
	for _, bytes := range partedSizes {
		with.run(t, fmt.Sprintf("%dB", bytes), func(t *testing.T) {
			errs := each(t, join(t, with, 3, runtime.Config{Stall: 20 * time.Millisecond}), func(ctx context.Context, c *runtime.Comm) error {
				return untilFailed(ctx, c, bcastOf(bytes, c.Rank()))
			})
			requireFailed(t, errs, runtime.ErrMismatch)
		})
	}
}

// testPartedOnce makes before equal calls, then one call that differs, and then barriers.
func testPartedOnce(t *testing.T, with network, ranks, odd, before int, calls func(rank, odd int) call) {
	t.Helper()
	comms := join(t, with, ranks, runtime.Config{Stall: 20 * time.Millisecond})
	requirePart(t, comms, before, func(rank int) call { return calls(rank, odd) })
	closeAll(t, comms)
}

func requirePart(t *testing.T, comms []*runtime.Comm, before int, calls func(rank int) call) {
	t.Helper()
	errs := each(t, comms, func(ctx context.Context, c *runtime.Comm) error {
		for range before {
			if err := barrier(ctx, c); err != nil {
				return err
			}
		}
		if err := calls(c.Rank())(ctx, c); err != nil {
			return err
		}
		return barrier(ctx, c)
	})
	requireFailed(t, errs, runtime.ErrMismatch)
	text := comms[0].Err().Error()
	for _, c := range comms {
		require.EqualError(t, c.Err(), text, "rank %d", c.Rank())
	}
	require.Contains(t, text, fmt.Sprintf("operation %d: rank ", before+1))
	require.Equal(t, 2, strings.Count(text, " called "), text)
}
