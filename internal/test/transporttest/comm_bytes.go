package transporttest

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/schedgen/schedgen/runtime"
)

// lengths are lengths of messages that only the root knows: none, short ones, the longest that one
// operation carries, and long ones.
var lengths = []int{0, 1, 503, 504, 505, 4099, 100000}

// testBytes broadcasts every length from every root.
func testBytes(t *testing.T, with network) {
	for name := range with.broadcasts {
		for _, ranks := range []int{1, 2, 5} {
			with.run(t, fmt.Sprintf("%s/ranks=%d", name, ranks), func(t *testing.T) {
				comms := join(t, with, ranks, runtime.Config{
					Algorithms: runtime.Algorithms{"bcast": {Name: name}}, Chunk: 3000, Repair: 2 * time.Millisecond,
				})
				all(t, comms, func(ctx context.Context, c *runtime.Comm) error {
					var buf []byte
					for i, n := range lengths {
						for root := range c.Size() {
							var err error
							if buf, err = bcastBytes(ctx, c, uint64(i*c.Size()+root), n, buf, root); err != nil {
								return err
							}
						}
					}
					return nil
				})
			})
		}
	}
	with.run(t, "Values", func(t *testing.T) { testValues(t, with) })
	with.run(t, "TooLarge", func(t *testing.T) { testBytesTooLarge(t, with) })
}

// bcastBytes broadcasts content i and compares every byte at every rank.
func bcastBytes(ctx context.Context, c *runtime.Comm, i uint64, n int, buf []byte, root int) ([]byte, error) {
	want := content(i, n)
	if c.Rank() == root {
		buf = bytes.Clone(want)
	}
	got, err := c.BcastBytes(ctx, buf, root)
	if err == nil && !bytes.Equal(got, want) {
		err = fmt.Errorf("rank %d: wrong bytes in broadcast %d of %d bytes from rank %d", c.Rank(), i, n, root)
	}
	return got, err
}

// testValues exchanges a value of another length between every two ranks.
func testValues(t *testing.T, with network) {
	comms := join(t, with, 4, runtime.Config{Chunk: 3000, Repair: 2 * time.Millisecond})
	all(t, comms, func(ctx context.Context, c *runtime.Comm) error {
		for turn := range lengths {
			value := func(from, to int) []byte {
				return content(uint64(from*c.Size()+to), lengths[(turn+from+2*to)%len(lengths)])
			}
			var mine [][]byte
			for to := range c.Size() {
				mine = append(mine, value(c.Rank(), to))
			}
			got, err := c.AlltoallBytes(ctx, mine)
			if err != nil {
				return err
			}
			if got, err = c.AllgatherBytes(ctx, got[turn%c.Size()]); err != nil {
				return err
			}
			for rank, v := range got {
				if !bytes.Equal(v, value(turn%c.Size(), rank)) {
					return fmt.Errorf("rank %d: wrong value of rank %d in turn %d", c.Rank(), rank, turn)
				}
			}
		}
		return nil
	})
}

// testBytesTooLarge: a message beyond the limit is an error at every rank, and the next operation
// works.
func testBytesTooLarge(t *testing.T, with network) {
	const limit = 2000
	comms := join(t, with, 3, runtime.Config{MaxBcast: limit})
	all(t, comms, func(ctx context.Context, c *runtime.Comm) error {
		if _, err := bcastBytes(ctx, c, 1, limit+1, nil, 1); !errors.Is(err, runtime.ErrTooLarge) {
			return fmt.Errorf("rank %d: %d bytes with a limit of %d: %v", c.Rank(), limit+1, limit, err)
		}
		if _, err := bcastBytes(ctx, c, 2, limit, nil, 1); err != nil {
			return err
		}
		return c.Barrier(ctx)
	})
	_, err := comms[0].BcastBytes(t.Context(), nil, 3)
	require.ErrorIs(t, err, runtime.ErrInput)
}
