package runtime_test

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"math/bits"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/schedgen/schedgen/internal/test/heavy"
	"github.com/schedgen/schedgen/internal/test/transporttest"
	"github.com/schedgen/schedgen/ir"
	"github.com/schedgen/schedgen/runtime"
	"github.com/schedgen/schedgen/runtime/mem"
	"github.com/schedgen/schedgen/schedule"
)

// words returns a fold of 8-byte numbers.
func words(name string, commutes bool, f func(a, b uint64) uint64) *runtime.Fold {
	return &runtime.Fold{Name: name, Element: 8, Commutes: commutes, Kernel: func(dst, a, b []byte) {
		if len(dst) != len(a) || len(dst) != len(b) || len(dst)%8 != 0 {
			panic(fmt.Sprintf("folding %d and %d bytes into %d", len(a), len(b), len(dst)))
		}
		for i := 0; i < len(dst); i += 8 {
			binary.LittleEndian.PutUint64(dst[i:], f(binary.LittleEndian.Uint64(a[i:]), binary.LittleEndian.Uint64(b[i:])))
		}
	}}
}

var (
	sums = words("sum", true, func(a, b uint64) uint64 { return a + b })

	// concat is associative and does not commute: numbers are affine functions x → a·x + b,
	// composed.
	concat = words("composition", false, func(f, g uint64) uint64 {
		a, b, c, d := uint32(f>>32), uint32(f), uint32(g>>32), uint32(g)
		return uint64(a*c)<<32 | uint64(c*b+d)
	})

	// trees shows the tree of a fold: it is neither associative nor commutative.
	trees = words("tree", false, func(a, b uint64) uint64 { return bits.RotateLeft64(a*0x9E3779B97F4A7C15, 23)*3 ^ b + 7 })
)

// commuting claims to commute, and shows the tree all the same.
var commuting = &runtime.Fold{Name: "tree that is said to commute", Element: 8, Commutes: true, Kernel: trees.Kernel}

// contribution returns a rank's contribution of n numbers.
func contribution(rank, round, n int) []byte { return numbers(rank, round, 0, n) }

// numbers returns a part of a rank's contribution: its numbers from first to end.
func numbers(rank, round, first, end int) []byte {
	all := make([]byte, 0, 8*(end-first))
	for i := first; i < end; i++ {
		x := (uint64(rank)+1)*0x9E3779B97F4A7C15 + uint64(round*1_000_003+i)*0xBF58476D1CE4E5B9
		all = binary.LittleEndian.AppendUint64(all, x|1<<32)
	}
	return all
}

// input returns the src of a rank: its contribution, and then the blocks that it holds.
func input(row *ir.Collective, ranks, root, rank, round, n int) []byte {
	all := contribution(rank, round, row.Inputs(ranks)*n)
	held := row.Held(ranks, root, rank)
	for i := range held.Count {
		all = append(all, question(held.At(i), round, n)...)
	}
	return all
}

// question returns a block that a rank holds; no rank contributes the same numbers.
func question(block, round, n int) []byte { return contribution(1000+block, round, n) }

// folded returns the blocks that a rank wants, of n numbers each, folded in the order of ranks.
func folded(row *ir.Collective, f *runtime.Fold, ranks, root, rank, round, n int) []byte {
	var all []byte
	wanted := row.Wanted(ranks, root, rank)
	for i := range wanted.Count {
		block := wanted.At(i)
		at := block % row.Inputs(ranks) * n
		var sum []byte
		if block < row.Question {
			sum = question(block, round, n)
		}
		for r := range row.Folded(ranks, block) {
			x := numbers(r, round, at, at+n)
			if sum == nil {
				sum = slices.Clone(x)
			} else {
				f.Kernel(sum, sum, x)
			}
		}
		all = append(all, sum...)
	}
	return all
}

// Every algorithm that folds brings every rank the blocks that it wants, for any length, number of
// ranks, root, hosts and chunks; also in place, and with several operations at a time.
func TestFolds(t *testing.T) {
	for _, alg := range schedule.Algorithms() {
		row := alg.Row()
		if row.Inputs == nil {
			continue
		}
		t.Run(alg.Name, func(t *testing.T) {
			rapid.Check(t, func(rt *rapid.T) {
				p := schedule.Params{Ranks: rapid.IntRange(1, 9).Draw(rt, "ranks")}
				if row.Rooted {
					p.Root = rapid.IntRange(0, p.Ranks-1).Draw(rt, "root")
				}
				if slices.Contains(alg.Params, "chunks") {
					p.Chunks = rapid.IntRange(0, 5).Draw(rt, "chunks")
				}
				if slices.Contains(alg.Params, "hosts") {
					p.Hosts = rapid.IntRange(0, p.Ranks).Draw(rt, "hosts")
				}
				n := rapid.SampledFrom([]int{0, 1, 2, 7, 100, 2500}).Draw(rt, "numbers of a block")
				fold := rapid.SampledFrom([]*runtime.Fold{sums, commuting}).Draw(rt, "fold")
				inPlace := rapid.Bool().Draw(rt, "in place")
				several := rapid.Bool().Draw(rt, "several at a time")
				comms := group(t, p.Ranks, mem.Options{}, runtime.Config{Algorithms: map[string]runtime.Algorithm{
					row.Name: {Name: alg.Name, Params: p},
				}})
				results := make([][][]byte, p.Ranks)
				require.NoError(rt, each(comms, func(c *runtime.Comm) error {
					var open []*runtime.Request
					for round := range 4 {
						wanted := row.Wanted(p.Ranks, p.Root, c.Rank())
						src, dst := input(&row, p.Ranks, p.Root, c.Rank(), round, n), make([]byte, wanted.Count*n*8)
						if inPlace && len(dst) == len(src) && wanted.Count == 1 {
							dst = src
						}
						results[c.Rank()] = append(results[c.Rank()], dst)
						r, err := c.Start(t.Context(), runtime.Call{Collective: row.Name, Dst: dst, Src: src, Root: p.Root, Fold: fold})
						if err != nil {
							return err
						}
						if open = append(open, r); !several {
							if err := r.Wait(t.Context()); err != nil {
								return err
							}
						}
					}
					for _, r := range open {
						if err := r.Wait(t.Context()); err != nil {
							return err
						}
					}
					return c.Barrier(t.Context())
				}))
				for round := range 4 {
					for rank, c := range comms {
						got := results[rank][round]
						switch {
						case fold == sums:
							require.True(rt, bytes.Equal(folded(&row, sums, p.Ranks, p.Root, rank, round, n), got), "rank %d, round %d", c.Rank(), round)
						case row.Everywhere(p.Ranks, p.Root):
							require.Equal(rt, results[0][round], got, "ranks 0 and %d, round %d", c.Rank(), round)
						}
					}
				}
				for _, c := range comms {
					require.NoError(rt, c.Close())
				}
			})
		})
	}
}

// An operation that does not commute is folded in the order of the ranks, whatever the rules would
// choose otherwise. An algorithm that folds in another order is refused.
func TestFoldsInOrder(t *testing.T) {
	sizes, lengths := []int{1, 2, 3, 4, 5, 6, 7, 8, 9}, []int{1, 3, 700, 20_000}
	if transporttest.Brief() {
		sizes, lengths = []int{1, 2, 5}, []int{1, 700}
	}
	for _, row := range ir.Collectives() {
		if row.Inputs == nil {
			continue
		}
		can := slices.ContainsFunc(schedule.AlgorithmsOf(row.Name), func(a schedule.Algorithm) bool { return a.RankOrder })
		for _, ranks := range sizes {
			comms := group(t, ranks, mem.Options{}, runtime.Config{})
			require.NoError(t, each(comms, func(c *runtime.Comm) error {
				for round, n := range lengths {
					wanted := row.Wanted(ranks, 0, c.Rank())
					dst := make([]byte, wanted.Count*n*8)
					call := runtime.Call{Collective: row.Name, Dst: dst, Src: input(&row, ranks, 0, c.Rank(), round, n), Fold: concat}
					err := c.Do(t.Context(), call)
					if !can && ranks > 1 && errors.Is(err, runtime.ErrInput) && strings.Contains(err.Error(), "does not commute") {
						return nil
					}
					if err != nil || !can && ranks > 1 {
						return fmt.Errorf("%s of %d ranks, n = %d: %w", row.Name, ranks, n, err)
					}
					if !bytes.Equal(dst, folded(&row, concat, ranks, 0, c.Rank(), round, n)) {
						return fmt.Errorf("%s: rank %d of %d, %d numbers: not in the order of ranks", row.Name, c.Rank(), ranks, n)
					}
				}
				return c.Barrier(t.Context())
			}))
			if !can && ranks > 1 {
				continue
			}
			for _, c := range comms {
				require.NoError(t, c.Close())
			}
		}
	}
	comms := group(t, 5, mem.Options{}, runtime.Config{Algorithms: map[string]runtime.Algorithm{"allreduce": {Name: "allreduce/ring"}}})
	for _, c := range comms {
		buf := make([]byte, 40)
		err := c.Do(t.Context(), runtime.Call{Collective: "allreduce", Dst: buf, Src: buf, Fold: concat})
		require.ErrorIs(t, err, runtime.ErrInput)
		require.ErrorContains(t, err, "composition does not commute, and allreduce/ring does not fold in the order of the ranks")
	}
}

// With Config.Reproducible there is one tree for a number of ranks, whatever the length, the
// algorithm, the chunks, the place of an element, and the order and loss of frames.
func TestReproducible(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		ranks := rapid.IntRange(1, 20).Draw(rt, "ranks")
		one := func(rank int) []byte { return contribution(rank, 1, 1) }
		var results [][]byte
		for range heavy.Or(3, 10) {
			n := rapid.SampledFrom([]int{1, 5, 300, 4000}).Draw(rt, "numbers")
			at := rapid.IntRange(0, n-1).Draw(rt, "place")
			cfg := runtime.Config{Reproducible: true}
			if rapid.Bool().Draw(rt, "algorithm is named") {
				var class []schedule.Algorithm
				for _, a := range schedule.AlgorithmsOf(schedule.Allreduce) {
					if a.Tree == schedule.TreeOfDoubling {
						class = append(class, a)
					}
				}
				name := rapid.SampledFrom(class).Draw(rt, "algorithm").Name
				cfg.Algorithms = map[string]runtime.Algorithm{"allreduce": {Name: name, Params: schedule.Params{Chunks: rapid.IntRange(0, 3).Draw(rt, "chunks")}}}
			}
			o := mem.Options{
				Seed: rapid.Uint64().Draw(rt, "seed"), Windows: rapid.Bool().Draw(rt, "windows"),
				Loss: rapid.SampledFrom([]float64{0, 0.2}).Draw(rt, "loss"), Reorder: rapid.SampledFrom([]float64{0, 0.3}).Draw(rt, "reorder"),
			}
			comms := group(t, ranks, o, cfg)
			got := make([][]byte, ranks)
			require.NoError(rt, each(comms, func(c *runtime.Comm) error {
				buf := contribution(c.Rank(), 2, n)
				copy(buf[8*at:], one(c.Rank()))
				err := c.Do(t.Context(), runtime.Call{Collective: "allreduce", Dst: buf, Src: buf, Fold: commuting})
				got[c.Rank()] = buf[8*at:][:8]
				if err == nil {
					err = c.Barrier(t.Context())
				}
				return err
			}))
			results = append(results, got...)
			for _, c := range comms {
				require.NoError(rt, c.Close())
			}
		}
		for _, r := range results {
			require.Equal(rt, results[0], r)
		}
	})
	comms := group(t, 5, mem.Options{}, runtime.Config{Reproducible: true, Algorithms: map[string]runtime.Algorithm{"allreduce": {Name: "allreduce/ring"}}})
	for _, c := range comms {
		buf := make([]byte, 40)
		err := c.Do(t.Context(), runtime.Call{Collective: "allreduce", Dst: buf, Src: buf, Fold: sums})
		require.ErrorIs(t, err, runtime.ErrInput)
		require.ErrorContains(t, err, "Config.Reproducible demands the tree \"doubling\", and allreduce/ring folds by another one")
	}
}

// Blocks of a reduce-scatter may have different lengths, also 0. Ranks that differ in one fail.
func TestFoldsCounted(t *testing.T) {
	for _, a := range schedule.AlgorithmsOf(schedule.ReduceScatter) {
		rapid.Check(t, func(rt *rapid.T) {
			ranks := rapid.IntRange(1, 8).Draw(rt, "ranks")
			counts := rapid.SliceOfN(rapid.SampledFrom([]int{0, 1, 2, 50, 3000}), ranks, ranks).Draw(rt, "counts")
			cfg := runtime.Config{Algorithms: map[string]runtime.Algorithm{a.Collective: {Name: a.Name, Params: schedule.Params{Chunks: rapid.IntRange(0, 3).Draw(rt, "chunks")}}}}
			comms := group(t, ranks, mem.Options{}, cfg)
			require.NoError(rt, each(comms, func(c *runtime.Comm) error {
				for round := range 3 {
					at, all := 0, 0
					for r, n := range counts {
						if r < c.Rank() {
							at += n
						}
						all += n
					}
					want := make([]byte, 8*counts[c.Rank()])
					for r := range ranks {
						sums.Kernel(want, want, numbers(r, round, at, at+counts[c.Rank()]))
					}
					got := make([]byte, len(want))
					call := runtime.Call{Collective: a.Collective, Dst: got, Src: contribution(c.Rank(), round, all), SrcCounts: counts, Counted: true, Fold: sums}
					if err := c.Do(t.Context(), call); err != nil {
						return err
					}
					if !bytes.Equal(want, got) {
						return fmt.Errorf("rank %d, round %d: another result", c.Rank(), round)
					}
				}
				return c.Barrier(t.Context())
			}))
			for _, c := range comms {
				require.NoError(rt, c.Close())
			}
		})
	}
	comms := group(t, 3, mem.Options{}, runtime.Config{})
	require.NoError(t, each(comms, func(c *runtime.Comm) error {
		counts := []int{1, 2, 3}
		if c.Rank() == 1 {
			counts = []int{2, 2, 2}
		}
		call := runtime.Call{Collective: schedule.ReduceScatter, Dst: make([]byte, 8*counts[c.Rank()]), Src: make([]byte, 48), SrcCounts: counts, Counted: true, Fold: sums}
		err := c.Do(t.Context(), call)
		if err == nil {
			err = c.Barrier(t.Context())
		}
		if !errors.Is(err, runtime.ErrMismatch) || !strings.Contains(err.Error(), "1, 2, 3 elements") || !strings.Contains(err.Error(), "3 times 2 elements") {
			return fmt.Errorf("rank %d: %w", c.Rank(), err)
		}
		return nil
	}))
}

// A call that folds is refused if its arguments do not fit, and does not count.
func TestFoldsRefused(t *testing.T) {
	comms := group(t, 2, mem.Options{}, runtime.Config{Algorithms: map[string]runtime.Algorithm{"allreduce": {Name: "allreduce/doubling"}}})
	buf := make([]byte, 16)
	for want, call := range map[string]runtime.Call{
		"it folds contributions, but the call has no Fold":          {Collective: "allreduce", Dst: buf, Src: buf},
		"it folds nothing, but the call has a Fold":                 {Collective: "allgather", Dst: buf, Src: buf[:8], Fold: sums},
		"dst has 12 bytes and src 16, which are not whole elements": {Collective: "allreduce", Dst: buf[:12], Src: buf, Fold: sums},
		"a block would have 8 bytes in dst and 16 in src":           {Collective: "allreduce", Dst: buf[:8], Src: buf, Fold: sums},
		"kernel is nil: true":                                       {Collective: "allreduce", Dst: buf, Src: buf, Fold: &runtime.Fold{Name: "none", Element: 8}},
		"elements of 4 bytes, but those of the Fold have 8":         {Collective: "allreduce", Dst: buf, Src: buf, Element: 4, Fold: sums},
		"dst, of 8 bytes, and src, of 8, overlap":                   {Collective: "allreduce", Dst: buf[:8], Src: buf[4:12], Fold: &runtime.Fold{Name: "x", Element: 4, Kernel: sums.Kernel}},
		"src has 15 bytes, which are not 2 blocks of one length":    {Collective: "reduce-scatter", Dst: nil, Src: buf[:15], Fold: &runtime.Fold{Name: "x", Element: 1, Kernel: sums.Kernel}},
		"root is 1, but the collective has no root":                 {Collective: "allreduce", Dst: buf, Src: buf, Root: 1, Fold: sums},
		"it takes no counts: each rank contributes one block":       {Collective: "allreduce", Dst: buf, Src: buf, Fold: sums, Counted: true},
	} {
		err := comms[0].Do(context.Background(), call)
		require.ErrorIs(t, err, runtime.ErrInput, want)
		require.ErrorContains(t, err, want)
	}
	for _, c := range comms {
		require.NoError(t, c.Close())
	}
}

// Ranks that fold with different operations fail, and the error says which.
func TestFoldsDiffer(t *testing.T) {
	comms := group(t, 3, mem.Options{}, runtime.Config{Algorithms: map[string]runtime.Algorithm{"allreduce": {Name: "allreduce/doubling"}}})
	err := each(comms, func(c *runtime.Comm) error {
		fold, buf := sums, make([]byte, 8)
		if c.Rank() == 2 {
			fold = concat
		}
		err := c.Do(t.Context(), runtime.Call{Collective: "allreduce", Dst: buf, Src: buf, Fold: fold})
		require.ErrorIs(t, err, runtime.ErrMismatch)
		require.ErrorContains(t, err, "sum")
		require.ErrorContains(t, err, "composition")
		return nil
	})
	require.NoError(t, err)
}
