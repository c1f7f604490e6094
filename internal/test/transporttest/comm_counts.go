package transporttest

import (
	"bytes"
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/schedgen/schedgen/ir"
	"github.com/schedgen/schedgen/runtime"
)

// manyBlocks returns the collectives whose blocks may have different lengths.
func manyBlocks() (names []string) {
	for _, row := range ir.Collectives() {
		if row.Blocks != nil && row.Blocks(2) > 1 && row.Inputs == nil {
			names = append(names, row.Name)
		}
	}
	return names
}

// counted returns the call of a rank. Block b has count(b) elements of 8 bytes. Each round has its
// own content. want is the expected content of Dst.
func counted(row *ir.Collective, ranks, root, rank, round int, count func(block int) int) (call runtime.Call, want []byte) {
	part := func(of ir.Blocks) (b []byte, counts []int) {
		for i := range of.Count {
			n := count(of.At(i))
			b = append(b, content(uint64(round)<<32|uint64(of.At(i)), 8*n)...)
			counts = append(counts, n)
		}
		return b, counts
	}
	call = runtime.Call{Collective: row.Name, Root: root, Element: 8, Counted: true}
	call.Src, call.SrcCounts = part(row.Held(ranks, root, rank))
	want, call.DstCounts = part(row.Wanted(ranks, root, rank))
	call.Dst = bytes.Repeat([]byte{0xff}, len(want))
	return call, want
}

// testBlockCounts moves blocks of different lengths, including empty and long ones, and compares
// every byte at every rank.
func testBlockCounts(t *testing.T, with network) {
	const ranks = 5
	lengths := []int{0, 1, 100, 9000, 3, 0, 2000}
	comms := join(t, with, ranks, runtime.Config{})
	all(t, comms, func(ctx context.Context, c *runtime.Comm) error {
		for round := range 2 * len(lengths) {
			for _, name := range manyBlocks() {
				row, _ := ir.CollectiveNamed(name)
				root := 0
				if row.Rooted {
					root = round % ranks
				}
				call, want := counted(&row, ranks, root, c.Rank(), round, func(b int) int { return lengths[(b+round)%len(lengths)] })
				if err := c.Do(ctx, call); err != nil {
					return err
				}
				if !bytes.Equal(call.Dst, want) {
					return fmt.Errorf("%s, round %d: rank %d has other bytes than those that were sent to it", name, round, c.Rank())
				}
			}
		}
		return c.Barrier(ctx)
	})
}

// testBlockCountsDiffer: if two ranks give a block different lengths, all ranks fail, and the error
// names both calls.
func testBlockCountsDiffer(t *testing.T, with network) {
	for _, name := range manyBlocks() {
		with.run(t, name, func(t *testing.T) {
			const ranks, odd = 3, 1
			row, _ := ir.CollectiveNamed(name)
			comms := joinEach(t, with, ranks, func(int) runtime.Config { return runtime.Config{Stall: 20 * time.Millisecond} })
			errs := each(t, comms, func(ctx context.Context, c *runtime.Comm) error {
				call, _ := counted(&row, ranks, 0, c.Rank(), 0, func(b int) int {
					if c.Rank() == odd && b == odd {
						return 600
					}
					return 500
				})
				err := c.Do(ctx, call)
				if err == nil {
					err = c.Barrier(ctx)
				}
				return err
			})
			for rank, err := range errs {
				require.ErrorIs(t, err, runtime.ErrMismatch, "rank %d", rank)
				require.ErrorContains(t, err, "500", "rank %d", rank)
				require.ErrorContains(t, err, "600", "rank %d", rank)
			}
		})
	}
}
