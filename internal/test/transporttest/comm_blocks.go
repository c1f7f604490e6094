package transporttest

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/schedgen/schedgen/ir"
	"github.com/schedgen/schedgen/runtime"
	"github.com/schedgen/schedgen/runtime/machine"
	"github.com/schedgen/schedgen/schedule"
)

// blockLengths are bytes of a block: none, fewer than chunks, short ones, and long ones.
var blockLengths = []int{0, 1, 100, 3000, 70_000}

// testBlocks moves blocks by every algorithm of every collective that moves more than one, and
// compares every byte at every rank.
func testBlocks(t *testing.T, with network) {
	for i, a := range schedule.Algorithms() {
		for _, ranks := range with.inTurn(i, a.Name) {
			row, _ := ir.CollectiveNamed(a.Collective)
			if row.Blocks == nil || row.Blocks(2) < 2 || row.Inputs != nil {
				continue
			}
			with.run(t, fmt.Sprintf("%s/ranks=%d", a.Name, ranks), func(t *testing.T) {
				roots, chunks := []int{0}, 1+ranks%3
				if row.Rooted {
					roots = []int{0, ranks - 1}
				}
				comms := join(t, with, ranks, runtime.Config{})
				all(t, comms, func(ctx context.Context, c *runtime.Comm) error {
					for _, root := range roots {
						s, err := ready(a.Name, schedule.Params{Ranks: ranks, Root: root, Chunks: chunks})
						if err == nil {
							err = c.Use(s)
						}
						if err != nil {
							return err
						}
					}
					for i, n := range blockLengths {
						for _, root := range roots {
							if err := moveBlocks(ctx, c, &row, i, n, root); err != nil {
								return fmt.Errorf("blocks of %d bytes, root %d: %w", n, root, err)
							}
						}
					}
					return c.Barrier(ctx)
				})
			})
		}
	}
}

func ready(name string, p schedule.Params) (*machine.Schedule, error) {
	spec, err := schedule.New(name, p)
	if err != nil {
		return nil, err
	}
	return machine.Of(spec.Schedule())
}

// moveBlocks calls the collective with blocks of n bytes and compares the result.
func moveBlocks(ctx context.Context, c *runtime.Comm, row *ir.Collective, round, n, root int) error {
	blocks := func(of ir.Blocks) []byte {
		var b []byte
		for i := range of.Count {
			b = append(b, content(uint64(round)<<32|uint64(of.At(i)), n)...)
		}
		return b
	}
	held, wanted := row.Held(c.Size(), root, c.Rank()), row.Wanted(c.Size(), root, c.Rank())
	src, dst := blocks(held), bytes.Repeat([]byte{0xff}, wanted.Count*n)
	if err := c.Collective(ctx, row.Name, dst, src, root); err != nil {
		return err
	}
	if !bytes.Equal(dst, blocks(wanted)) {
		return fmt.Errorf("rank %d has other bytes than those that were sent to it", c.Rank())
	}
	if !bytes.Equal(src, blocks(held)) {
		return fmt.Errorf("rank %d: what it has sent has been written", c.Rank())
	}
	return nil
}

// testBlockLengths: blocks of different lengths are a mismatch at every rank, and the error names
// both calls. Buffers whose lengths do not make whole blocks are refused at the rank itself.
func testBlockLengths(t *testing.T, with network) {
	for _, collective := range manyBlocks() {
		with.run(t, collective, func(t *testing.T) {
			const ranks = 3
			row, _ := ir.CollectiveNamed(collective)
			comms := join(t, with, ranks, runtime.Config{})
			errs := each(t, comms, func(ctx context.Context, c *runtime.Comm) error {
				err := c.Collective(ctx, collective, make([]byte, 5), make([]byte, 7), 0)
				if !errors.Is(err, runtime.ErrInput) {
					return fmt.Errorf("7 bytes to 5: %w", err)
				}
				n := 100
				if c.Rank() == 1 {
					n = 99
				}
				held, wanted := row.Held(ranks, 0, c.Rank()), row.Wanted(ranks, 0, c.Rank())
				err = c.Collective(ctx, collective, make([]byte, n*wanted.Count), make([]byte, n*held.Count), 0)
				if err == nil {
					err = c.Barrier(ctx)
				}
				return err
			})
			for rank, err := range errs {
				require.ErrorIs(t, err, runtime.ErrMismatch, "rank %d", rank)
				require.ErrorContains(t, err, "blocks of 100 bytes")
				require.ErrorContains(t, err, "blocks of 99 bytes")
			}
		})
	}
}
