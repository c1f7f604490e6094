package runtime_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/schedgen/schedgen/internal/test/heavy"
	"github.com/schedgen/schedgen/internal/test/transporttest"
	"github.com/schedgen/schedgen/ir"
	"github.com/schedgen/schedgen/runtime"
	"github.com/schedgen/schedgen/runtime/mem"
	"github.com/schedgen/schedgen/schedule"
)

// deviation is how one rank's call differs from the others'.
type deviation struct {
	name       string
	call, odd  func(rank int) runtime.Call
	words, its string // the error's words for the others' call, and for the odd rank's call
}

// blockBytes is the length of a block in these tests.
const blockBytes = 120

// countedOf returns a rank's call with blocks of 8-byte elements; block b has count(b) elements.
func countedOf(row *ir.Collective, ranks, root, rank int, count func(block int) int) runtime.Call {
	counts := func(of ir.Blocks) (list []int, elements int) {
		for i := range of.Count {
			list = append(list, count(of.At(i)))
			elements += list[i]
		}
		return list, elements
	}
	call := runtime.Call{Collective: row.Name, Root: root, Element: 8, Counted: true}
	var in, out int
	call.SrcCounts, in = counts(row.Held(ranks, root, rank))
	call.DstCounts, out = counts(row.Wanted(ranks, root, rank))
	call.Src, call.Dst = make([]byte, 8*in), make([]byte, 8*out)
	return call
}

// deviations returns all ways in which the call of rank odd can differ.
func deviations(row *ir.Collective, ranks, root, odd int) (all []deviation) {
	if !row.Rooted {
		root = 0
	}
	usual := func(rank int) runtime.Call { return callOf(row, ranks, root, rank, blockBytes) }
	for _, other := range called() {
		if other.Name != row.Name {
			all = append(all, deviation{"for " + other.Name, usual, func(rank int) runtime.Call { return callOf(&other, ranks, root, rank, blockBytes) },
				row.Name, other.Name})
		}
	}
	if row.Rooted {
		otherRoot := (root + 1) % ranks
		all = append(all, deviation{"root", usual, func(rank int) runtime.Call { return callOf(row, ranks, otherRoot, rank, blockBytes) },
			fmt.Sprint("root ", root), fmt.Sprint("root ", otherRoot)})
	}
	if row.Blocks == nil {
		return all
	}
	all = append(all,
		deviation{"length", usual, func(rank int) runtime.Call { return callOf(row, ranks, root, rank, blockBytes+1) }, "120 bytes", "121 bytes"},
		deviation{"no bytes", usual, func(rank int) runtime.Call { return callOf(row, ranks, root, rank, 0) }, "120 bytes", " 0 bytes"},
		deviation{"element", usual, func(rank int) runtime.Call {
			call := usual(rank)
			if call.Fold != nil {
				call.Fold = byteSum(call.Fold.Name, 4)
			} else {
				call.Element = 4
			}
			return call
		}, row.Name, "elements of 4 bytes"})
	if row.Inputs != nil {
		return append(all, deviation{"fold", usual, func(rank int) runtime.Call {
			call := usual(rank)
			call.Fold = byteSum("another sum", 1)
			return call
		}, "sum of bytes", "another sum"})
	}
	if row.Blocks(2) < 2 {
		return all
	}
	vForm := func(rank int) runtime.Call {
		return countedOf(row, ranks, root, rank, func(b int) int { return 50 + b })
	}
	all = append(all,
		deviation{"counts for one length", usual, func(rank int) runtime.Call {
			return countedOf(row, ranks, root, rank, func(int) int { return blockBytes / 8 })
		}, "120 bytes", "elements of 8 bytes"},
		deviation{"counts", vForm, func(rank int) runtime.Call {
			return countedOf(row, ranks, root, rank, func(b int) int { return 300 + b })
		}, "", ""})
	for name, blocks := range map[string]ir.Blocks{"held": row.Held(ranks, root, odd), "wanted": row.Wanted(ranks, root, odd)} {
		own := row.Held(ranks, root, odd)
		passed := slices.DeleteFunc(slices.Collect(blocksIn(blocks)), func(b int) bool {
			w := row.Wanted(ranks, root, odd)
			return own.Index(b) >= 0 && w.Index(b) >= 0 && !row.Everywhere(ranks, root) // no other rank knows the length
		})
		if len(passed) == 0 {
			continue
		}
		one := passed[len(passed)/2]
		all = append(all, deviation{"count of a block that is " + name, vForm, func(rank int) runtime.Call {
			return countedOf(row, ranks, root, rank, func(b int) int {
				if b == one {
					return 700
				}
				return 50 + b
			})
		}, fmt.Sprint(50 + one), "700"})
	}
	return all
}

func blocksIn(b ir.Blocks) func(yield func(int) bool) {
	return func(yield func(int) bool) {
		for i := range b.Count {
			if !yield(b.At(i)) {
				return
			}
		}
	}
}

// forEachAlgorithm calls f for every algorithm of every collective that programs call, and once
// without a name for those that a rule chooses.
func forEachAlgorithm(f func(row *ir.Collective, algorithm string)) {
	for _, row := range called() {
		f(&row, "")
		for _, a := range schedule.Algorithms() {
			if a.Collective == row.Name {
				f(&row, a.Name)
			}
		}
	}
}

// nameOf returns the name of a subtest.
func nameOf(row *ir.Collective, algorithm string, ranks int) string {
	if algorithm == "" {
		algorithm = row.Name
	}
	return fmt.Sprintf("%s/ranks=%d", algorithm, ranks)
}

// If one rank's call differs from the others', all ranks fail with the same words. The words name
// that rank's call and another rank's call.
func TestOneRankDeviates(t *testing.T) {
	forEachAlgorithm(func(row *ir.Collective, algorithm string) {
		for _, ranks := range heavy.Or([]int{2, 5}, []int{2, 3, 5, 6}) {
			t.Run(nameOf(row, algorithm, ranks), func(t *testing.T) {
				for _, odd := range []int{0, ranks - 1} {
					for _, root := range heavy.Or([]int{ranks / 2}, []int{0, ranks - 1}) {
						for _, d := range deviations(row, ranks, root, odd) {
							t.Run(fmt.Sprintf("%s/odd=%d,root=%d", d.name, odd, root), func(t *testing.T) { deviates(t, row, algorithm, ranks, odd, &d) })
						}
					}
				}
			})
		}
	})
}

func deviates(t *testing.T, row *ir.Collective, algorithm string, ranks, odd int, d *deviation) {
	cfg := runtime.Config{Algorithms: runtime.Algorithms{row.Name: {Name: algorithm}}}
	virtual(t, ranks, mem.Options{Windows: odd == 0}, cfg, func(comms []*runtime.Comm) {
		ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
		defer cancel()
		refused := make([]error, ranks)
		require.NoError(t, each(comms, func(c *runtime.Comm) error {
			call := d.call(c.Rank())
			if c.Rank() == odd {
				call = d.odd(c.Rank())
			}
			err := c.Do(ctx, call)
			if errors.Is(err, runtime.ErrInput) {
				refused[c.Rank()] = err
				return nil
			}
			if err == nil {
				err = c.Barrier(ctx)
			}
			if !errors.Is(err, runtime.ErrMismatch) {
				return fmt.Errorf("rank %d: no mismatch: %w", c.Rank(), err)
			}
			return nil
		}))
		if errors.Join(refused...) != nil && refused[(odd+1)%ranks] != nil && refused[odd] != nil {
			return // the algorithm does not serve such calls, so all are refused
		}
		time.Sleep(time.Second) // until all ranks know
		text := comms[0].Err()
		for rank, c := range comms {
			require.ErrorIs(t, c.Err(), runtime.ErrMismatch, "rank %d", rank)
			require.EqualError(t, c.Err(), text.Error(), "rank %d", rank)
		}
		require.ErrorContains(t, text, fmt.Sprintf("rank %d ", odd))
		if refused[odd] == nil {
			require.ErrorContains(t, text, d.its)
			require.ErrorContains(t, text, d.words)
			require.NotContains(t, text.Error(), "something", "it is not known what")
			require.True(t, slices.ContainsFunc(comms, func(c *runtime.Comm) bool {
				return c.Rank() != odd && strings.Contains(text.Error(), fmt.Sprintf("rank %d ", c.Rank()))
			}), "only one side: %v", text)
		}
	})
}

// If one rank dies or leaves inside an operation, all others get an error that names it.
func TestOneRankEnds(t *testing.T) {
	sizes := heavy.Or([]int{2, 5}, []int{2, 3, 5, 6})
	if transporttest.Brief() {
		sizes = []int{5}
	}
	forEachAlgorithm(func(row *ir.Collective, algorithm string) {
		for _, ranks := range sizes {
			t.Run(nameOf(row, algorithm, ranks), func(t *testing.T) {
				for _, odd := range []int{0, ranks - 1} {
					for _, root := range []int{0, ranks / 2} {
						for _, inside := range []bool{false, true} {
							for _, dies := range []bool{false, true} {
								t.Run(fmt.Sprintf("odd=%d,root=%d,inside=%v,dies=%v", odd, root, inside, dies), func(t *testing.T) {
									ends(t, row, algorithm, ranks, root, odd, inside, dies)
								})
							}
						}
					}
				}
			})
		}
	})
}

// ends makes a rank end before it has entered an operation, or inside it.
func ends(t *testing.T, row *ir.Collective, algorithm string, ranks, root, odd int, inside, dies bool) {
	synctest.Test(t, func(t *testing.T) {
		ts, err := mem.New(ranks, mem.Options{Windows: inside, Delay: time.Millisecond})
		require.NoError(t, err)
		comms := make([]*runtime.Comm, ranks)
		for rank := range comms {
			cfg := runtime.Config{Transport: ts[rank], Algorithms: runtime.Algorithms{row.Name: {Name: algorithm}}}
			comms[rank], err = runtime.Join(context.Background(), cfg)
			require.NoError(t, err)
		}
		ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
		defer cancel()
		errs := make([]error, ranks)
		var wg sync.WaitGroup
		for rank, c := range comms {
			wg.Go(func() {
				if err := c.Barrier(ctx); err != nil {
					errs[rank] = err
					return
				}
				call := callOf(row, ranks, root, rank, 30_000)
				if rank != odd {
					if errs[rank] = c.Do(ctx, call); errs[rank] == nil { // it waits for nobody
						errs[rank] = c.Barrier(ctx)
					}
					return
				}
				if inside {
					_, errs[rank] = c.Start(ctx, call)
				}
				time.Sleep(1500 * time.Microsecond)
				if dies {
					_ = ts[rank].Close(false, 0)
				} else {
					_ = c.Close()
				}
			})
		}
		wg.Wait()
		want := runtime.ErrPeerLeft
		if dies {
			want = runtime.ErrPeerLost
		}
		for rank, err := range errs {
			if rank == odd {
				continue
			}
			require.ErrorIs(t, err, want, "rank %d", rank)
			requireAbout(t, err, odd)
			if dies {
				var lost *runtime.LostError
				require.ErrorAs(t, err, &lost)
				require.Equal(t, []int{odd}, lost.Ranks)
			}
		}
		for _, c := range comms {
			_ = c.Close() // the rank that has died cannot
		}
	})
}
