package build_test

import (
	"regexp"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/schedgen/schedgen/ir"
	"github.com/schedgen/schedgen/schedule/build"
)

// A wrong call is an error that says what is wrong, where, and in which line.
func TestMisuse(t *testing.T) {
	var kept build.Piece
	bcast := ir.Header{Collective: "bcast", Algorithm: "own", Ranks: 4, Root: 1, Chunks: 2}
	reduce := ir.Header{Collective: "allreduce", Algorithm: "own", Ranks: 4, Chunks: 2}
	barrier := ir.Header{Collective: "barrier", Algorithm: "own", Ranks: 4}
	for _, c := range []struct {
		h     ir.Header
		write func(b *build.Builder)
		want  string
	}{
		{bcast, func(b *build.Builder) { kept = b.Chunk(4, 0) }, `rank 4: the ranks are 0 … 3`},
		{bcast, func(b *build.Builder) { b.Chunk(1, 2) }, `Chunk(1, 2): the chunks are 0 … 1`},
		{bcast, func(b *build.Builder) { b.Chunk(0, 1) }, `Chunk(0, 1): rank 0 does not hold chunk 1 at enter`},
		{bcast, func(b *build.Builder) { b.Chunk(1, 0).PutTo(-1) }, `rank -1: the ranks are 0 … 3`},
		{bcast, func(b *build.Builder) { b.Chunk(1, 0).PutTo(1) }, `PutTo: from rank 1 to itself`},
		{bcast, func(b *build.Builder) { kept.PutTo(1) }, `PutTo: a piece that no call has returned`},
		{bcast, func(b *build.Builder) { b.Done(1, kept) }, `Done: a piece that no call has returned`},
		{bcast, func(b *build.Builder) { build.PutTogether(1) }, `PutTogether: no piece`},
		{bcast, func(b *build.Builder) { build.PutTogether(3, b.Chunk(1, 0), b.Chunk(1, 1).PutTo(2)) }, `PutTogether: the piece is at rank 2, not at rank 1`},
		{bcast, func(b *build.Builder) { b.Enter(1).PutTo(2) }, `PutTo: a signal or an enter has no data; Signal sends one`},
		{bcast, func(b *build.Builder) { b.Chunk(1, 0).Fold(b.Chunk(1, 0)) }, `Fold: an operand is neither a contribution nor folded from one`},
		{bcast, func(b *build.Builder) { b.Param("degree") }, `Param("degree"): bcast/own has no such parameter`},
		{bcast, func(b *build.Builder) { b.Repair(b.Chunk(1, 0).PutTo(2), 1, 1) }, `Repair: the piece is neither a chunk that was multicast nor a signal of rank 1 after such a chunk`},
		{bcast, func(b *build.Builder) { b.Repair(b.Chunk(1, 0).Mcast()[2], 1, -1) }, `Repair: after -1: must be in 0 … `},
		{bcast, func(b *build.Builder) { b.Chunk(1, 0).After(b.Enter(2)) }, `After: the piece is at rank 2, not at rank 1`},
		{bcast, func(b *build.Builder) { b.Host(7) }, `rank 7: the ranks are 0 … 3`},
		{reduce, func(b *build.Builder) { b.Chunk(0, 0).Fold(b.Chunk(1, 0)) }, `Fold: the piece is at rank 1, not at rank 0`},
		{reduce, func(b *build.Builder) { b.Chunk(0, 0).Fold(b.Chunk(0, 1)) }, `Fold: part 0 of the vector with part 1`},
		{reduce, func(b *build.Builder) { b.Chunk(0, 0).Mcast() }, `Mcast: only a chunk or a result can be multicast`},
		{reduce, func(b *build.Builder) { b.Chunk(0, 0).Fold().Mcast() }, `Mcast: only a chunk can be multicast, or what a rank wants as its result`},
		{reduce, func(b *build.Builder) {
			sum := b.Chunk(0, 0).Fold()
			sum.Result()
			sum.Fold(b.Chunk(0, 0)).Result()
		}, `Result: rank 0 has a result for c0 already`},
		{reduce, func(b *build.Builder) { b.Enter(0).Result() }, `Result: rank 0 wants no such chunk`},
		{bcast, func(b *build.Builder) { b.Chunk(1, 0).PutTo(2).Mcast() }, `Mcast: at rank 2: ranks take multicasts of a chunk only from the rank that holds it at enter, or from the root (rank 1)`},
		{bcast, func(b *build.Builder) { c := b.Chunk(1, 0); build.PutTogether(2, c, c) }, `PutTogether: a piece is there twice`},
		{barrier, func(b *build.Builder) { b.Signal(0, 1, b.Enter(2)) }, `Signal: the piece is at rank 2, not at rank 0`},
		{barrier, func(b *build.Builder) { b.Chunk(0, 0) }, `Chunk(0, 0): there are no chunks`},
	} {
		_, err := build.Schedule(c.h, c.write)
		require.ErrorContains(t, err, c.want)
		require.Regexp(t, regexp.MustCompile(`^misuse_test\.go:\d+: `), err.Error())
	}
	_, err := build.Schedule(bcast, func(b *build.Builder) { kept = b.Chunk(1, 0) })
	require.NoError(t, err)
	_, err = build.Schedule(bcast, func(b *build.Builder) { b.Done(1, kept) })
	require.ErrorContains(t, err, "Done: a piece of a schedule that has been made")
	_, err = build.Schedule(bcast, func(b *build.Builder) { b.Refuse("%d ranks are no power of three", b.Ranks()) })
	require.EqualError(t, err, "4 ranks are no power of three")
	_, err = build.Schedule(bcast, func(b *build.Builder) {
		var none []int
		none[b.Ranks()]++
	})
	require.ErrorContains(t, err, "panicked: runtime error: index out of range [4] with length 0")
	require.ErrorContains(t, err, "misuse_test.go:")
	_, err = build.Schedule(reduce, func(b *build.Builder) { b.Chunk(2, 1).PutTo(0) })
	require.EqualError(t, err, "nothing uses what rank 0 gets from rank 2: part 1 of the vector is neither folded nor put further, and is no Result")
	_, err = build.Schedule(reduce, func(b *build.Builder) { b.Chunk(2, 1).Fold(b.Chunk(2, 1)) })
	require.EqualError(t, err, "nothing uses what rank 2 makes: part 1 of the vector is neither folded nor put further, and is no Result")
	_, err = build.Schedule(reduce, nil)
	require.EqualError(t, err, "no function")
	var old *build.Builder
	_, err = build.Schedule(barrier, func(b *build.Builder) { old = b })
	require.NoError(t, err)
	_, err = build.Schedule(barrier, func(*build.Builder) { old.Enter(0) })
	require.ErrorContains(t, err, "a Builder is used after its function has returned")
	_, err = build.Schedule(ir.Header{Collective: "cast", Algorithm: "own", Ranks: 4}, func(*build.Builder) {})
	require.Error(t, err)
}
