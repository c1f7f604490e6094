package schedgen_test

import (
	"context"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/schedgen/schedgen"
)

// TestElementsOfCountsArrive checks that blocks of any different lengths arrive, also empty ones.
func TestElementsOfCountsArrive(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		size := rapid.IntRange(1, 7).Draw(rt, "ranks")
		root := rapid.IntRange(0, size-1).Draw(rt, "root")
		start := rapid.Bool().Draw(rt, "start")
		everywhere := rapid.Bool().Draw(rt, "counts everywhere")
		of := rapid.SliceOfN(rapid.SampledFrom([]int{0, 1, 2, 5, 100, 3000}), size, size)
		perRank := of.Draw(rt, "counts")
		pairs := make([][]int, size) // by source and destination
		for s := range pairs {
			pairs[s] = of.Draw(rt, "counts of a rank")
		}
		block := func(from, to, n int) []particle {
			all := make([]particle, n)
			for i := range all {
				all[i] = particle{byte(from), [3]float64{float64(to), float64(i)}, 7}
			}
			return all
		}
		var all []particle
		for r, n := range perRank {
			all = append(all, block(r, -1, n)...)
		}
		comms := group(rt, size, schedgen.Config{})
		require.NoError(rt, each(comms, func(c *schedgen.Comm) error {
			ctx, me := t.Context(), c.Rank()
			wait := func(r *schedgen.Request, err error) error {
				if err != nil {
					return err
				}
				return r.Wait(ctx)
			}
			counts, gathered, scattered, src := perRank, []particle(nil), []particle(nil), block(me, -1, perRank[me])
			if me == root {
				gathered, scattered = make([]particle, len(all)), all
			} else if !everywhere {
				counts = nil
			}
			got, everything := make([]particle, len(src)), make([]particle, len(all))
			var in, out, want []particle
			var outCounts []int
			for r := range size {
				in = append(in, block(me, r, pairs[me][r])...)
				want = append(want, block(r, me, pairs[r][me])...)
				outCounts = append(outCounts, pairs[r][me])
			}
			out = make([]particle, len(want))
			calls := []func() error{
				func() error { return schedgen.Gatherv(ctx, c, gathered, counts, src, root) },
				func() error { return schedgen.Scatterv(ctx, c, got, scattered, counts, root) },
				func() error { return schedgen.Allgatherv(ctx, c, everything, perRank, src) },
				func() error { return schedgen.Alltoallv(ctx, c, out, outCounts, in, pairs[me]) },
			}
			if start {
				calls = []func() error{
					func() error { return wait(schedgen.StartGatherv(ctx, c, gathered, counts, src, root)) },
					func() error { return wait(schedgen.StartScatterv(ctx, c, got, scattered, counts, root)) },
					func() error { return wait(schedgen.StartAllgatherv(ctx, c, everything, perRank, src)) },
					func() error { return wait(schedgen.StartAlltoallv(ctx, c, out, outCounts, in, pairs[me])) },
				}
			}
			for _, call := range calls {
				if err := call(); err != nil {
					return err
				}
			}
			if me == root && !slices.Equal(gathered, all) {
				return fmt.Errorf("rank %d: Gatherv brought other elements", me)
			}
			if !slices.Equal(got, src) || !slices.Equal(everything, all) || !slices.Equal(out, want) {
				return fmt.Errorf("rank %d: Scatterv, Allgatherv or Alltoallv brought other elements", me)
			}
			return nil
		}))
		closeAll(rt, comms)
	})
}

// TestWarmCountsDoNotAllocate checks that a warm communicator allocates nothing for blocks of
// different lengths.
func TestWarmCountsDoNotAllocate(t *testing.T) {
	const size, warm, rounds = 4, 300, 200
	counts, total := []int{30, 0, 200, 5}, 235
	comms := group(t, size, schedgen.Config{})
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	for _, one := range []struct {
		name string
		call func(c *schedgen.Comm, long, longer, own []particle, row, column []int) error
	}{
		{"Scatterv", func(c *schedgen.Comm, long, _, own []particle, _, _ []int) error {
			if c.Rank() != 1 {
				return schedgen.Scatterv(ctx, c, own, nil, nil, 1)
			}
			return schedgen.Scatterv(ctx, c, own, long, counts, 1)
		}},
		{"Gatherv", func(c *schedgen.Comm, long, _, own []particle, _, _ []int) error {
			if c.Rank() != 1 {
				return schedgen.Gatherv(ctx, c, nil, nil, own, 1)
			}
			return schedgen.Gatherv(ctx, c, long, counts, own, 1)
		}},
		{"Allgatherv", func(c *schedgen.Comm, long, _, own []particle, _, _ []int) error {
			return schedgen.Allgatherv(ctx, c, long, counts, own)
		}},
		{"Alltoallv", func(c *schedgen.Comm, long, longer, _ []particle, row, column []int) error {
			return schedgen.Alltoallv(ctx, c, longer, column, long, row)
		}},
	} {
		t.Run(one.name, func(t *testing.T) {
			per := 0.0
			require.NoError(t, each(comms, func(c *schedgen.Comm) (err error) {
				n := counts[c.Rank()]
				long, longer, own := make([]particle, total), make([]particle, size*n), make([]particle, n)
				column := []int{n, n, n, n}
				call := func() {
					if err == nil {
						err = one.call(c, long, longer, own, counts, column)
					}
				}
				for range warm {
					call()
				}
				if err == nil {
					err = schedgen.Barrier(ctx, c)
				}
				if c.Rank() == 0 {
					per = testing.AllocsPerRun(rounds, call) // of all ranks
				} else {
					for range rounds + 1 { // AllocsPerRun calls once more
						call()
					}
				}
				return err
			}))
			require.Zero(t, per)
		})
	}
	closeAll(t, comms)
}

// TestWrongCounts checks that wrong counts are errors that describe each side, and that the
// communicator still works.
func TestWrongCounts(t *testing.T) {
	comms := group(t, 3, schedgen.Config{})
	ctx, c, six := t.Context(), comms[1], make([]int32, 6)
	for _, one := range []struct {
		err  error
		want string
	}{
		{schedgen.Gatherv(ctx, nil, six, nil, six, 0), "Gatherv: the communicator is nil"},
		{schedgen.Gatherv(ctx, c, nil, nil, six, 3), "Gatherv: rank 1 of 3: root 3 outside 0 … 2"},
		{schedgen.Gatherv(ctx, c, nil, nil, []string{"a"}, 0), "elements are string"},
		{schedgen.Gatherv(ctx, c, nil, []int{1, 2, 3}, six[:4], 0), "Gatherv: rank 1 of 3: counts is [1 2 3], want 3 of them with 4, the length of this rank's block, at place 1, or nil"},
		{schedgen.Scatterv(ctx, c, six[:4], nil, []int{4, 4}, 0), "Scatterv: rank 1 of 3: counts is [4 4], want 3 of them with 4"},
		{schedgen.Gatherv(ctx, c, six, nil, six[:4], 0), "Gatherv: rank 1 of 3: dst has 6 elements, but this rank has no block there"},
		{schedgen.Gatherv(ctx, c, six, []int{2, 2, 1}, make([]int32, 2), 1), "Gatherv: rank 1 of 3: dst has 6 elements, but its counts add up to 5"},
		{schedgen.Scatterv(ctx, c, make([]int32, 2), six, []int{2, 2, 3}, 1), "Scatterv: rank 1 of 3: src has 6 elements, but its counts 0 … 2 alone add up to 1 more"},
		{schedgen.Allgatherv(ctx, c, six, []int{2, -2, 6}, nil), "count 1 of dst is -2"},
		{schedgen.Allgatherv(ctx, c, six, []int{3, 1, 2}, make([]int32, 2)), "has 2 elements in src and 1 in dst"},
		{schedgen.Allgatherv(ctx, c, six, []int{3, 1, 2}, six[4:5]), "overlap"},
		{schedgen.Alltoallv(ctx, c, six, []int{1, 2, 3}, six, []int{1, 2, 3}), "overlap"},
		{schedgen.Alltoallv(ctx, c, six, []int{1, 2, 3}, make([]int32, 2), []int{1, 0, 1}), "Alltoallv: rank 1 of 3: the block of this rank for itself has 0 elements in src and 2 in dst"},
	} {
		require.ErrorIs(t, one.err, schedgen.ErrInput)
		require.ErrorContains(t, one.err, one.want)
	}
	require.NoError(t, each(comms, func(c *schedgen.Comm) error { return schedgen.Barrier(ctx, c) }))
	closeAll(t, comms)
}

// TestCountsThatDiffer checks that all ranks fail if their counts or elements differ, and that the
// error quotes both sides.
func TestCountsThatDiffer(t *testing.T) {
	for name, one := range map[string]struct {
		call  func(ctx context.Context, c *schedgen.Comm) error
		words []string
	}{
		"Gatherv": {func(ctx context.Context, c *schedgen.Comm) error {
			if c.Rank() == 0 {
				return schedgen.Gatherv(ctx, c, make([]int64, 6), []int{1, 2, 3}, make([]int64, 1), 0)
			}
			return schedgen.Gatherv(ctx, c, nil, nil, make([]int64, 2), 0)
		}, []string{"rank 2 sends rank 0 a block of 2 elements", "rank 0 expects 3"}},
		"elements": {func(ctx context.Context, c *schedgen.Comm) error {
			if c.Rank() == 2 {
				return schedgen.Allgather(ctx, c, make([]int32, 6), make([]int32, 2))
			}
			return schedgen.Allgather(ctx, c, make([]int64, 3), make([]int64, 1))
		}, []string{"(elements of 4 bytes)", "(elements of 8 bytes)"}},
		"elements of Bcast": {func(ctx context.Context, c *schedgen.Comm) error {
			if c.Rank() == 2 {
				return schedgen.Bcast(ctx, c, make([]int32, 2), 0)
			}
			return schedgen.Bcast(ctx, c, make([]int64, 1), 0)
		}, []string{"(elements of 4 bytes)", "(elements of 8 bytes)"}},
	} {
		t.Run(name, func(t *testing.T) {
			comms := group(t, 3, schedgen.Config{Stall: 20 * time.Millisecond})
			errs := make([]error, 3)
			require.NoError(t, each(comms, func(c *schedgen.Comm) error {
				if errs[c.Rank()] = one.call(t.Context(), c); errs[c.Rank()] == nil {
					errs[c.Rank()] = schedgen.Barrier(t.Context(), c)
				}
				return nil
			}))
			for rank, err := range errs {
				require.ErrorIs(t, err, schedgen.ErrMismatch, "rank %d", rank)
				for _, words := range one.words {
					require.ErrorContains(t, err, words, "rank %d", rank)
				}
			}
			for _, c := range comms {
				c.Close()
			}
		})
	}
}
