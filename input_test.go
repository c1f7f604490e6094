package schedgen_test

import (
	"context"
	"errors"
	"testing"
	"unsafe"

	"github.com/stretchr/testify/require"

	"github.com/schedgen/schedgen"
)

type node struct {
	Value int
	Links [2]*node
}

// TestWrongArguments checks that wrong arguments are errors that name the function, the rank and
// each side. The call then does nothing, and the communicator still works.
func TestWrongArguments(t *testing.T) {
	comms := group(t, 3, schedgen.Config{})
	ctx, c := t.Context(), comms[1]
	none := (*schedgen.Comm)(nil)
	six := make([]int32, 6)
	var noContext context.Context
	request := func(_ *schedgen.Request, err error) error { return err }
	var nobody *schedgen.Request
	for _, one := range []struct {
		err  error
		want string
	}{
		{schedgen.Bcast(ctx, none, six, 0), "Bcast: the communicator is nil"},
		{schedgen.Bcast(ctx, new(schedgen.Comm), six, 0), "Bcast: the communicator is nil"},
		{schedgen.Barrier(ctx, none), "Barrier: the communicator is nil"},
		{request(schedgen.StartGather(ctx, none, six, six, 0)), "StartGather: the communicator is nil"},
		{none.Publish(ctx, nil), "Publish: the communicator is nil"},
		{none.Close(), "Close: the communicator is nil"},
		{none.Err(), "Err: the communicator is nil"},
		{nobody.Wait(ctx), "Wait: the request is nil"},

		{schedgen.Bcast(noContext, c, six, 0), "Bcast: rank 1 of 3: the context is nil"},
		{request(schedgen.StartBarrier(noContext, c)), "StartBarrier: rank 1 of 3: the context is nil"},
		{c.Publish(noContext, nil), "publish: the context is nil"},

		{schedgen.Bcast(ctx, c, six, 3), "Bcast: rank 1 of 3: root 3 outside 0 … 2"},
		{schedgen.Gather(ctx, c, nil, six, -1), "Gather: rank 1 of 3: root -1 outside 0 … 2"},

		{schedgen.Bcast(ctx, c, []string{"a"}, 0), "Bcast: rank 1 of 3: elements are string: only types without pointers can be moved"},
		{schedgen.Bcast(ctx, c, []node{{}}, 0), "elements are schedgen_test.node, where .Links[0] is *schedgen_test.node: only types without pointers can be moved"},
		{schedgen.Bcast(ctx, c, []any{1}, 0), "elements are interface {}: only types"},
		{schedgen.Bcast(ctx, c, []unsafe.Pointer{nil}, 0), "elements are unsafe.Pointer: only types"},
		{schedgen.Bcast(ctx, c, make([]struct{}, 2), 0), "elements are struct {}, which have no bytes"},
		{schedgen.Bcast(ctx, c, make([][0]*int, 2), 0), "elements are [0]*int, which have no bytes"},

		{schedgen.Gather(ctx, c, six, six[:2], 0), "Gather: rank 1 of 3: dst has 6 elements, want none: only the root, rank 0, gets blocks"},
		{schedgen.Gather(ctx, c, make([]int32, 5), six[:2], 1), "Gather: rank 1 of 3: dst has 5 elements and src 2, want 6 in dst: one block of src's length for each of 3 ranks"},
		{schedgen.Scatter(ctx, c, six[:2], make([]int32, 6), 0), "Scatter: rank 1 of 3: src has 6 elements, want none: only the root, rank 0, sends blocks"},
		{schedgen.Scatter(ctx, c, six[:2], make([]int32, 7), 1), "Scatter: rank 1 of 3: src has 7 elements and dst 2, want 6 in src: one block of dst's length for each of 3 ranks"},
		{request(schedgen.StartAllgather(ctx, c, six, make([]int32, 3))), "StartAllgather: rank 1 of 3: dst has 6 elements and src 3, want 9 in dst"},
		{schedgen.Allgather(ctx, c, nil, six), "Allgather: rank 1 of 3: dst has 0 elements and src 6, want 18 in dst"},
		{schedgen.Alltoall(ctx, c, six, make([]int32, 3)), "Alltoall: rank 1 of 3: dst has 6 elements in 3 blocks and src 3 in 3, want blocks of one length"},
		{schedgen.Alltoall(ctx, c, six[:4], make([]int32, 4)), "Alltoall: rank 1 of 3: dst and src have 4 elements each, want a multiple of 3: a block for each rank"},

		{schedgen.Alltoall(ctx, c, six, six), "Alltoall: rank 1 of 3: dst, of 6 elements, and src, of 6, overlap"},
		{schedgen.Allgather(ctx, c, six, six[:2]), "Allgather: rank 1 of 3: dst, of 6 elements, and src, of 2, overlap"},
		{schedgen.Allgather(ctx, c, six, six[3:5]), "overlap"},
		{schedgen.Scatter(ctx, c, six[2:4], six, 1), "Scatter: rank 1 of 3: dst, of 2 elements, and src, of 6, overlap"},
	} {
		require.ErrorIs(t, one.err, schedgen.ErrInput)
		require.ErrorContains(t, one.err, one.want)
	}
	require.NoError(t, each(comms, func(c *schedgen.Comm) error {
		all := make([]int32, 6)
		return errors.Join(
			schedgen.Allgather(ctx, c, all, all[2*c.Rank():][:2]), // src is its own block in dst
			schedgen.Barrier(ctx, c))
	}))
	closeAll(t, comms)
}

// TestMismatch checks that all ranks get an error if they disagree, and that it quotes two of them.
func TestMismatch(t *testing.T) {
	for _, one := range []struct {
		name string
		call func(ctx context.Context, c *schedgen.Comm, odd bool) error
		want []string // parts of the error's text
	}{
		{"lengths", func(ctx context.Context, c *schedgen.Comm, odd bool) error {
			n := 2
			if odd {
				n = 3
			}
			return schedgen.Allgather(ctx, c, make([]int64, 3*n), make([]int64, n))
		}, []string{"16", "24"}},
		{"roots", func(ctx context.Context, c *schedgen.Comm, odd bool) error {
			root := 0
			if odd {
				root = 2
			}
			return schedgen.Bcast(ctx, c, make([]int64, 4), root)
		}, []string{"root 0", "root 2"}},
		{"collectives", func(ctx context.Context, c *schedgen.Comm, odd bool) error {
			if odd {
				return schedgen.Barrier(ctx, c)
			}
			return schedgen.Alltoall(ctx, c, make([]int64, 3), make([]int64, 3))
		}, []string{"barrier", "alltoall"}},
	} {
		t.Run(one.name, func(t *testing.T) {
			comms := group(t, 3, schedgen.Config{})
			require.NoError(t, each(comms, func(c *schedgen.Comm) error {
				err := one.call(t.Context(), c, c.Rank() == 2)
				if err == nil {
					err = schedgen.Barrier(t.Context(), c)
				}
				if !errors.Is(err, schedgen.ErrMismatch) {
					return errors.Join(errors.New("no mismatch"), err)
				}
				for _, words := range one.want {
					require.ErrorContains(t, err, words)
				}
				return nil
			}))
			closeAll(t, comms)
		})
	}
}
