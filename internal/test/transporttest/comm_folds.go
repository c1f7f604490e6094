package transporttest

import (
	"bytes"
	"context"
	"encoding/binary"
	"fmt"
	"slices"
	"testing"

	"github.com/schedgen/schedgen/ir"
	"github.com/schedgen/schedgen/runtime"
	"github.com/schedgen/schedgen/schedule"
)

// foldLengths are numbers of elements in a block: none, fewer than chunks, and numbers for which
// blocks are copied, lent and cut.
var foldLengths = []int{0, 1, 13, 400, 9000, 20_000}

// sum adds numbers of 8 bytes.
var sum = &runtime.Fold{Name: "sum of uint64", Element: 8, Commutes: true, Kernel: func(dst, a, b []byte) {
	for i := 0; i < len(dst); i += 8 {
		binary.LittleEndian.PutUint64(dst[i:], binary.LittleEndian.Uint64(a[i:])+binary.LittleEndian.Uint64(b[i:]))
	}
}}

// testFolds folds by every algorithm, in separate buffers and in place, and compares every byte at
// every rank.
func testFolds(t *testing.T, with network) {
	for i, a := range schedule.Algorithms() {
		row := a.Row()
		for _, ranks := range with.inTurn(i, a.Name) {
			if row.Inputs == nil {
				continue
			}
			with.run(t, fmt.Sprintf("%s/ranks=%d", a.Name, ranks), func(t *testing.T) {
				roots := []int{0}
				if row.Rooted {
					roots = []int{0, ranks - 1}
				}
				chunks := []int{0}
				if slices.Contains(a.Params, "chunks") {
					chunks = []int{0, 1 + ranks%3}
				}
				comms := join(t, with, ranks, runtime.Config{})
				all(t, comms, func(ctx context.Context, c *runtime.Comm) error {
					for round, n := range foldLengths {
						for _, root := range roots {
							s, err := ready(a.Name, schedule.Params{Ranks: ranks, Root: root, Chunks: chunks[round%len(chunks)]})
							if err == nil {
								err = c.Use(s)
							}
							if err == nil {
								err = FoldOnce(ctx, c, &row, round, n, root)
							}
							if err != nil {
								return fmt.Errorf("blocks of %d numbers, root %d: %w", n, root, err)
							}
						}
					}
					return c.Barrier(ctx)
				})
			})
		}
	}
}

// FoldOnce calls a collective that folds, with blocks of n elements of 8 bytes, and checks the
// result. Contributions depend on round. If round is even and contribution and result are one block
// each, both use the same buffer. Every rank must give the same arguments.
func FoldOnce(ctx context.Context, c *runtime.Comm, row *ir.Collective, round, n, root int) error {
	inputs := row.Inputs(c.Size())
	own := func(rank, block int) []byte { return content(uint64(round)<<32|uint64(rank*inputs+block), 8*n) }
	var src, want []byte
	for b := range inputs {
		src = append(src, own(c.Rank(), b)...)
	}
	held, wanted := row.Held(c.Size(), root, c.Rank()), row.Wanted(c.Size(), root, c.Rank())
	for i := range held.Count { // from a rank that does not exist
		src = append(src, own(c.Size(), held.At(i))...)
	}
	for i := range wanted.Count {
		block := make([]byte, 8*n)
		if wanted.At(i) < row.Question {
			copy(block, own(c.Size(), wanted.At(i)))
		}
		for rank := range row.Folded(c.Size(), wanted.At(i)) {
			sum.Kernel(block, block, own(rank, wanted.At(i)%inputs))
		}
		want = append(want, block...)
	}
	dst, before := bytes.Repeat([]byte{0xff}, len(want)), slices.Clone(src)
	inPlace := round%2 == 0 && len(dst) == len(src) && wanted.Count == 1
	if inPlace {
		dst = src
	}
	if err := c.Do(ctx, runtime.Call{Collective: row.Name, Dst: dst, Src: src, Root: root, Fold: sum}); err != nil {
		return err
	}
	if !bytes.Equal(dst, want) {
		return fmt.Errorf("rank %d has another result", c.Rank())
	}
	if !inPlace && !bytes.Equal(src, before) {
		return fmt.Errorf("rank %d: what it contributes has been written", c.Rank())
	}
	return nil
}
