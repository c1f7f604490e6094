package runtime_test

import (
	"bytes"
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"
	"pgregory.net/rapid"

	"github.com/schedgen/schedgen/ir"
	"github.com/schedgen/schedgen/runtime"
	"github.com/schedgen/schedgen/runtime/mem"
	"github.com/schedgen/schedgen/runtime/wire"
	"github.com/schedgen/schedgen/schedule"
)

// element is a length of elements in these tests.
const element = 3

// counted returns a rank's call with blocks of different lengths: lengths has the elements of every
// block. Each block of each round has its own content. want is the expected content of dst.
func counted(row *ir.Collective, lengths []int, ranks, root, rank, round int) (call runtime.Call, want []byte) {
	part := func(of ir.Blocks) (all []byte, counts []int) {
		for i := range of.Count {
			b := of.At(i)
			one := fmt.Sprintf("%s, round %d, block %d.", row.Name, round, b)
			n := lengths[b] * element
			all = append(all, bytes.Repeat([]byte(one), n/len(one)+1)[:n]...)
			counts = append(counts, lengths[b])
		}
		return all, counts
	}
	call = runtime.Call{Collective: row.Name, Root: root, Element: element, Counted: true}
	call.Src, call.SrcCounts = part(row.Held(ranks, root, rank))
	want, call.DstCounts = part(row.Wanted(ranks, root, rank))
	call.Dst = make([]byte, len(want))
	return call, want
}

func severalBlocks() (rows []ir.Collective) {
	for _, row := range ir.Collectives() {
		if row.Blocks != nil && row.Blocks(2) > 1 && row.Inputs == nil {
			rows = append(rows, row)
		}
	}
	return rows
}

// Blocks may have any lengths, also 0, for any number of ranks, root and number of chunks. The test
// runs the rules' choice and given schedules, called and started.
func TestBlocksOfDifferentLengths(t *testing.T) {
	for _, row := range severalBlocks() {
		t.Run(row.Name, func(t *testing.T) {
			rapid.Check(t, func(rt *rapid.T) {
				ranks := rapid.IntRange(1, 9).Draw(rt, "ranks")
				roots := []int{0}
				if row.Rooted {
					roots = []int{rapid.IntRange(0, ranks-1).Draw(rt, "root"), ranks - 1}
				}
				cfg := runtime.Config{Algorithms: runtime.Algorithms{}}
				if chunks := rapid.IntRange(0, 4).Draw(rt, "chunks of a block"); chunks > 0 {
					cfg.Algorithms[row.Name] = runtime.Algorithm{Params: schedule.Params{Chunks: chunks}}
				}
				given := rapid.Bool().Draw(rt, "schedule of a flood")
				bundle := rapid.Bool().Draw(rt, "bundles")
				start := rapid.Bool().Draw(rt, "start")
				omit := rapid.Bool().Draw(rt, "leave counts of one block out")
				of := rapid.SliceOfN(rapid.SampledFrom([]int{0, 0, 1, 2, 7, 100, 700, 12_000}), row.Blocks(ranks), row.Blocks(ranks))
				var lengths [3][]int
				for i := range lengths {
					lengths[i] = of.Draw(rt, "elements of blocks")
				}
				comms := group(t, ranks, mem.Options{Windows: rapid.Bool().Draw(rt, "windows")}, cfg)
				require.NoError(rt, each(comms, func(c *runtime.Comm) error {
					for _, root := range roots {
						if given {
							if err := c.Use(flood(rt, row.Name, ranks, root, max(1, cfg.Algorithms[row.Name].Params.Chunks), bundle)); err != nil {
								return err
							}
						}
					}
					for round := range 6 {
						root := roots[round%len(roots)]
						call, want := counted(&row, lengths[round%3], ranks, root, c.Rank(), round)
						if omit && len(call.SrcCounts) == 1 {
							call.SrcCounts = nil
						}
						if omit && len(call.DstCounts) == 1 {
							call.DstCounts = nil
						}
						src := bytes.Clone(call.Src)
						if err := do(t.Context(), c, call, start); err != nil {
							return err
						}
						if !bytes.Equal(call.Dst, want) {
							return fmt.Errorf("rank %d, round %d: the blocks are not those that were sent", c.Rank(), round)
						}
						if !bytes.Equal(call.Src, src) {
							return fmt.Errorf("rank %d, round %d: src was written", c.Rank(), round)
						}
					}
					return c.Barrier(t.Context())
				}))
				for _, c := range comms {
					require.NoError(rt, c.Close())
				}
			})
		})
	}
}

func do(ctx context.Context, c *runtime.Comm, call runtime.Call, start bool) error {
	if !start {
		return c.Do(ctx, call)
	}
	r, err := c.Start(ctx, call)
	if err != nil {
		return err
	}
	return r.Wait(ctx)
}

// A rank's one block may lie in its place in dst.
func TestBlocksOfDifferentLengthsInPlace(t *testing.T) {
	lengths, all := []int{2, 0, 3, 1}, []byte("aacccd")
	comms := group(t, 4, mem.Options{}, runtime.Config{})
	require.NoError(t, each(comms, func(c *runtime.Comm) error {
		at := 0
		for _, n := range lengths[:c.Rank()] {
			at += n
		}
		dst := make([]byte, len(all))
		own := dst[at:][:lengths[c.Rank()]]
		copy(own, all[at:])
		if err := c.Do(t.Context(), runtime.Call{Collective: "allgather", Dst: dst, DstCounts: lengths, Src: own, Counted: true}); err != nil {
			return err
		}
		if !bytes.Equal(dst, all) {
			return fmt.Errorf("rank %d has %q", c.Rank(), dst)
		}
		return nil
	}))
	for _, c := range comms {
		require.NoError(t, c.Close())
	}
}

// If ranks differ in the length of one block, all ranks fail with the words of both sides: also if
// one of them says 0, and if the block is one of many.
func TestLengthsThatDiffer(t *testing.T) {
	for _, c := range []struct {
		collective string
		lengths    []int    // of blocks
		odd        int      // the rank that differs
		block      int      // the block that it differs in
		says       int      // the length that it gives
		words      []string // in the error
	}{
		{"gather", []int{5, 4, 3}, 1, 1, 6, []string{"rank 1 sends rank 0 a block of 6 elements", "rank 0 expects 4"}},
		{"gather", []int{5, 4, 3}, 2, 2, 0, []string{"rank 2 sends rank 0 a block of 0 elements", "rank 0 expects 3"}},
		{"gather", []int{0, 0, 0}, 2, 2, 9, []string{"rank 2 sends rank 0 a block of 9 elements", "rank 0 expects 0"}},
		{"scatter", []int{5, 4, 3}, 1, 1, 6, []string{"rank 0 sends rank 1 a block of 4 elements", "rank 1 expects 6"}},
		{"scatter", []int{5, 4, 3}, 2, 2, 0, []string{"rank 0 sends rank 2 a block of 3 elements", "rank 2 expects 0"}},
		{"scatter", []int{5, 0, 3}, 0, 1, 7, []string{"rank 0 sends rank 1 a block of 7 elements", "rank 1 expects 0"}},
		{"alltoall", []int{1, 2, 3, 4, 5, 6, 7, 8, 9}, 1, 5, 60, []string{"rank 1 sends rank 2 a block of 60 elements", "rank 2 expects 6"}},
		{"alltoall", []int{0, 0, 0, 0, 0, 0, 0, 0, 0}, 2, 1, 1, nil}, // not a block of rank 2: nothing differs
		{"allgather", []int{5, 5, 3}, 1, 2, 4, []string{"rank 1 called allgather of blocks of 2 times 5, 4 elements", "called allgather of blocks of 2 times 5, 3 elements"}},
		{"allgather", []int{5, 5, 0}, 0, 2, 1, []string{"rank 0 called allgather of blocks of 2 times 5, 1 elements", "called allgather of blocks of 2 times 5, 0 elements"}},
	} {
		t.Run(fmt.Sprint(c.collective, c.lengths, c.odd, c.says), func(t *testing.T) {
			const ranks = 3
			row, _ := ir.CollectiveNamed(c.collective)
			comms := group(t, ranks, mem.Options{Windows: true}, runtime.Config{Stall: 20 * time.Millisecond})
			errs := make([]error, ranks)
			require.NoError(t, each(comms, func(comm *runtime.Comm) error {
				rank, lengths := comm.Rank(), append([]int(nil), c.lengths...)
				if rank == c.odd {
					lengths[c.block] = c.says
				}
				call, _ := counted(&row, lengths, ranks, 0, rank, 0)
				if errs[rank] = comm.Do(t.Context(), call); errs[rank] == nil {
					errs[rank] = comm.Barrier(t.Context())
				}
				return nil
			}))
			for rank, err := range errs {
				if c.words == nil {
					require.NoError(t, err)
					continue
				}
				require.ErrorIs(t, err, runtime.ErrMismatch, "rank %d", rank)
				for _, words := range c.words {
					require.ErrorContains(t, err, words, "rank %d", rank)
				}
			}
			for _, comm := range comms {
				comm.Close()
			}
		})
	}
}

// TestFormsThatDiffer checks that ranks must agree on the length of an element, and on whether
// blocks have lengths of their own.
func TestFormsThatDiffer(t *testing.T) {
	plain := runtime.Call{Collective: "allgather", Dst: make([]byte, 24), Src: make([]byte, 8)}
	for name, c := range map[string]struct{ a, b runtime.Call }{
		"elements of 8 bytes": {plain, runtime.Call{Collective: "allgather", Dst: make([]byte, 24), Src: make([]byte, 8), Element: 8}},
		"blocks of 3 times 8": {plain, runtime.Call{Collective: "allgather", Dst: make([]byte, 24), DstCounts: []int{8, 8, 8}, Src: make([]byte, 8), Counted: true}},
	} {
		t.Run(name, func(t *testing.T) {
			comms := group(t, 3, mem.Options{}, runtime.Config{Stall: 20 * time.Millisecond})
			errs := make([]error, 3)
			require.NoError(t, each(comms, func(comm *runtime.Comm) error {
				call := c.a
				if comm.Rank() == 2 {
					call = c.b
				}
				call.Dst = bytes.Clone(call.Dst)
				if errs[comm.Rank()] = comm.Do(t.Context(), call); errs[comm.Rank()] == nil {
					errs[comm.Rank()] = comm.Barrier(t.Context())
				}
				return nil
			}))
			for rank, err := range errs {
				require.ErrorIs(t, err, runtime.ErrMismatch, "rank %d", rank)
				require.ErrorContains(t, err, name)
				require.ErrorContains(t, err, "allgather of blocks of 8 bytes")
			}
			for _, comm := range comms {
				comm.Close()
			}
		})
	}
}

// Impossible counts are refused, and the communicator works on.
func TestCountsThatAreRefused(t *testing.T) {
	comms := group(t, 3, mem.Options{}, runtime.Config{})
	c, b := comms[1], make([]byte, 12)
	most := int(^uint(0) >> 1)
	for _, one := range []struct {
		call runtime.Call
		want string
	}{
		{runtime.Call{Collective: "bcast", Dst: b}, "bcastv: rank 1 of 3: it takes no counts"},
		{runtime.Call{Collective: "barrier"}, "barrierv: rank 1 of 3: it takes no counts"},
		{runtime.Call{Collective: "nothing"}, `no collective "nothing"`},
		{runtime.Call{Collective: "gather", Root: 3, Src: b}, "gatherv: rank 1 of 3: root 3 outside 0 … 2"},
		{runtime.Call{Collective: "gather", Root: 1, Src: b[:4], Dst: b[4:]}, "dst has 0 counts, want one for each of 3 blocks"},
		{runtime.Call{Collective: "gather", Root: 1, Src: b[:4], Dst: b[4:], DstCounts: []int{4, 4}}, "dst has 2 counts, want one for each of 3 blocks"},
		{runtime.Call{Collective: "gather", Root: 1, Src: b[:4], Dst: b[4:], DstCounts: []int{4, 4, -1}}, "count 2 of dst is -1"},
		{runtime.Call{Collective: "gather", Root: 1, Src: b[:4], Dst: b[4:], DstCounts: []int{0, 4, 3}}, "dst has 8 elements, but its counts add up to 7"},
		{runtime.Call{Collective: "gather", Root: 1, Src: b[:4], Dst: b[4:], DstCounts: []int{0, 4, 6}}, "dst has 8 elements, but its counts 0 … 2 alone add up to 2 more"},
		{runtime.Call{Collective: "gather", Root: 1, Src: b[:4], Dst: b[4:], DstCounts: []int{most, most, 2}}, "dst has 8 elements, but its count 0 is 9223372036854775807"},
		{runtime.Call{Collective: "gather", Root: 1, Src: b[:4], Dst: b[4:], DstCounts: []int{0, 5, 3}}, "the block of this rank for itself has 4 elements in src and 5 in dst"},
		{runtime.Call{Collective: "gather", Root: 1, Src: b[:4], Dst: b[2:], DstCounts: []int{2, 4, 4}}, "dst, of 10 bytes, and src, of 4, overlap"},
		{runtime.Call{Collective: "gather", Src: b[:4], Dst: b[4:]}, "dst has 8 elements, but this rank has no block there"},
		{runtime.Call{Collective: "gather", Src: b[:4], DstCounts: []int{1}}, "dst has 1 counts, want one for each of 0 blocks"},
		{runtime.Call{Collective: "gather", Src: b[:4], Element: 3}, "which are not whole elements of 3"},
		{runtime.Call{Collective: "gather", Src: b[:4], Element: -3}, "elements of -3 bytes"},
	} {
		call := one.call
		call.Counted = true
		for _, start := range []bool{false, true} {
			err := do(t.Context(), c, call, start)
			require.ErrorIs(t, err, runtime.ErrInput, "%+v", call)
			require.ErrorContains(t, err, one.want)
		}
	}
	require.NoError(t, each(comms, func(c *runtime.Comm) error { return c.Barrier(t.Context()) }))
	for _, c := range comms {
		require.NoError(t, c.Close())
	}

	five := group(t, 5, mem.Options{}, runtime.Config{Algorithms: runtime.Algorithms{"scatter": {Name: "scatter/binomial"}, "alltoall": {Name: "alltoall/bruck"}}}) // of three, no rank passes on blocks
	_, err := five[1].Start(t.Context(), runtime.Call{Collective: "scatter", Dst: b, Counted: true})
	require.ErrorIs(t, err, runtime.ErrInput)
	require.ErrorContains(t, err, "scatterv: in scatter/binomial ranks pass on blocks whose lengths they do not know")
	of := []int{1, 1, 1, 1, 1}
	_, err = five[1].Start(t.Context(), runtime.Call{Collective: "alltoall", Dst: b[:5], DstCounts: of, Src: b[5:10], SrcCounts: of, Counted: true})
	require.ErrorIs(t, err, runtime.ErrInput)
	require.ErrorContains(t, err, "alltoallv: in alltoall/bruck ranks pass on blocks")
	for _, c := range five {
		require.NoError(t, c.Close())
	}
}

// A block that no frame can carry is refused where its length is known, unless Config asks for more
// chunks. No code touches the block, which has no memory.
func TestBlockThatNoFrameCarries(t *testing.T) {
	buf, err := unix.Mmap(-1, 0, wire.MaxBody+1, unix.PROT_NONE, unix.MAP_ANON|unix.MAP_PRIVATE)
	if err != nil {
		t.Skipf("no such slice on this machine: %v", err)
	}
	defer unix.Munmap(buf)
	call := runtime.Call{Collective: "scatter", Dst: buf, Counted: true}
	for chunks := 1; chunks <= 2; chunks++ {
		comms := group(t, 2, mem.Options{}, runtime.Config{Algorithms: runtime.Algorithms{"scatter": {Params: schedule.Params{Chunks: chunks}}}})
		r, err := comms[1].Start(t.Context(), call)
		if chunks == 1 {
			require.ErrorIs(t, err, runtime.ErrInput)
			require.ErrorContains(t, err, "2147483648 bytes in chunks of 2147483648, at most 2147483647 in each")
		} else {
			require.NoError(t, err)
			require.NoError(t, comms[1].Close())
			require.ErrorIs(t, r.Wait(t.Context()), runtime.ErrClosed)
		}
		for _, c := range comms {
			c.Close()
		}
	}
}
