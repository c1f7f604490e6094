package schedgen_test

import (
	"context"
	"errors"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/schedgen/schedgen"
	"github.com/schedgen/schedgen/runtime"
	"github.com/schedgen/schedgen/runtime/mem"
)

// An error has the types of this package and those of package runtime.
func TestErrorsAreOfBothPackages(t *testing.T) {
	comms := group(t, 2, schedgen.Config{})
	require.NoError(t, each(comms, func(c *schedgen.Comm) error {
		ctx, cancel := context.WithCancel(t.Context())
		if c.Rank() == 1 {
			cancel()
		}
		defer cancel()
		err := schedgen.Barrier(ctx, c)
		require.ErrorIs(t, err, context.Canceled)
		var op *schedgen.OpError
		var below *runtime.OpError
		require.ErrorAs(t, err, &op)
		require.ErrorAs(t, err, &below)
		require.Equal(t, below.Error(), op.Error())
		require.Equal(t, below.Error(), err.Error())
		require.Equal(t, c.Rank(), op.Rank)
		require.Equal(t, below.Op, op.Op)
		if c.Rank() == 0 {
			require.ErrorIs(t, err, schedgen.ErrAborted)
			require.ErrorIs(t, err, runtime.ErrAborted)
			var of *schedgen.RankError
			require.ErrorAs(t, op.Err, &of, "also below an OpError")
			require.Equal(t, 1, of.Rank)
			require.Contains(t, err.Error(), of.Error())
		}
		require.ErrorIs(t, c.Err(), context.Canceled)
		return nil
	}))
	closeAll(t, comms)
}

func TestRefusedCallsAreErrors(t *testing.T) {
	comms := group(t, 2, schedgen.Config{MaxMessage: 3})
	require.ErrorIs(t, comms[0].Publish(t.Context(), []byte("long")), schedgen.ErrTooLarge)
	closeAll(t, comms)
	err := schedgen.Barrier(t.Context(), comms[0])
	require.ErrorIs(t, err, schedgen.ErrClosed)
	require.ErrorIs(t, err, runtime.ErrClosed)
}

// Survivors get the same list of lost ranks, and go on without them.
func TestLostRanks(t *testing.T) {
	transports, err := mem.New(4, mem.Options{})
	require.NoError(t, err)
	comms := make([]*schedgen.Comm, 4)
	for rank := range comms {
		comms[rank], err = schedgen.Join(t.Context(), schedgen.Config{Transport: transports[rank]})
		require.NoError(t, err)
	}
	require.NoError(t, each(comms, func(c *schedgen.Comm) error { return schedgen.Barrier(t.Context(), c) }))
	require.NoError(t, transports[2].Close(false, 0)) // rank 2 dies
	survivors := slices.Delete(slices.Clone(comms), 2, 3)
	require.NoError(t, each(survivors, func(c *schedgen.Comm) error {
		all := make([]int, 4)
		err := schedgen.Allgather(t.Context(), c, all, []int{c.Rank()})
		if err == nil {
			err = schedgen.Barrier(t.Context(), c)
		}
		var lost *schedgen.LostError
		require.ErrorAs(t, err, &lost)
		require.Equal(t, []int{2}, lost.Ranks)
		require.Contains(t, err.Error(), lost.Error())
		require.ErrorIs(t, lost, schedgen.ErrPeerLost)
		var of *schedgen.RankError
		require.ErrorAs(t, lost, &of)
		require.Equal(t, 2, of.Rank)

		agreed, gone, err := c.Agree(t.Context(), 1<<c.Rank()|1<<9)
		if err != nil {
			return err
		}
		require.Equal(t, uint32(1<<9), agreed)
		require.Equal(t, []int{2}, gone)
		next, err := c.Shrink(t.Context())
		if err != nil {
			return err
		}
		got := make([]int, 3)
		if err := schedgen.Allgather(t.Context(), next, got, []int{c.Rank()}); err != nil {
			return err
		}
		require.Equal(t, []int{0, 1, 3}, got)
		return errors.Join(schedgen.Barrier(t.Context(), next), next.Close())
	}))
}
