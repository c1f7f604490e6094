package transporttest

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/schedgen/schedgen/runtime"
)

// testCloseOrder closes a communicator and the communicators made from it in every order. The
// remaining ones continue to work. The tests of this file are about communicators that share their
// transports and end independently.
func testCloseOrder(t *testing.T, with network) {
	orders := [][]int{{0, 1, 2}, {0, 2, 1}, {1, 0, 2}, {1, 2, 0}, {2, 0, 1}, {2, 1, 0}}
	for _, order := range orders {
		with.run(t, fmt.Sprint(order), func(t *testing.T) {
			comms := join(t, with, 5, runtime.Config{})
			halves := divide(t, comms, parity, identity)
			twins := divide(t, halves, constant, identity)
			lists := [][]*runtime.Comm{comms, halves, twins}
			for i, closing := range order {
				closeAll(t, lists[closing])
				for _, left := range order[i+1:] {
					all(t, lists[left], func(ctx context.Context, c *runtime.Comm) error { return bcastsAndBarriers(ctx, c, 5) })
				}
				require.ErrorIs(t, lists[closing][0].Barrier(t.Context()), runtime.ErrClosed)
				_, err := lists[closing][0].Dup(t.Context())
				require.ErrorIs(t, err, runtime.ErrClosed)
			}
		})
	}
}

// testCloseChild: when a rank closes one communicator, only the next operation of that communicator
// misses it.
func testCloseChild(t *testing.T, with network) {
	comms := join(t, with, 5, runtime.Config{Stall: 20 * time.Millisecond})
	twins := divide(t, comms, constant, func(rank int) int { return -rank })
	exercise(t, twins)
	require.NoError(t, twins[1].Close()) // rank 3 there
	errs := each(t, slices.Concat(twins[:1], twins[2:]), func(ctx context.Context, c *runtime.Comm) error { return c.Barrier(ctx) })
	requireFailed(t, errs, runtime.ErrPeerLeft)
	exercise(t, comms)
}

// expired returns a context that ends after a while.
func expired(t testing.TB) context.Context {
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	t.Cleanup(cancel)
	return ctx
}

// testCancelApart: a cancelled operation fails its communicator at all its ranks, and no other
// communicator.
func testCancelApart(t *testing.T, with network) {
	comms := join(t, with, 6, runtime.Config{})
	halves := divide(t, comms, parity, identity)
	twins := divide(t, comms, constant, identity)
	require.ErrorIs(t, halves[0].Bcast(expired(t), buffer(10), 1), context.DeadlineExceeded)
	for _, rank := range []int{2, 4} {
		require.ErrorIs(t, halves[rank].Barrier(t.Context()), runtime.ErrAborted)
	}
	for _, list := range [][]*runtime.Comm{comms, twins, {halves[1], halves[3], halves[5]}} {
		exercise(t, list)
	}
	_, err := halves[0].Dup(t.Context())
	require.ErrorIs(t, err, context.DeadlineExceeded, "a failed communicator is not split")
}

// testCancelSplit: if the context ends during Split, the communicator that is being split fails at
// all ranks.
func testCancelSplit(t *testing.T, with network) {
	comms := join(t, with, 4, runtime.Config{})
	twins := divide(t, comms, constant, identity)
	_, err := twins[0].Split(expired(t), 0, 0)
	require.ErrorIs(t, err, context.DeadlineExceeded)
	for _, c := range twins[1:] {
		_, err := c.Split(t.Context(), 0, 0)
		require.ErrorIs(t, err, runtime.ErrAborted)
	}
	exercise(t, comms)
}

// testSplitMismatch: if one rank calls another operation in place of Split, all ranks fail.
func testSplitMismatch(t *testing.T, with network) {
	comms := join(t, with, 3, runtime.Config{Stall: 20 * time.Millisecond})
	errs := each(t, comms, func(ctx context.Context, c *runtime.Comm) error {
		if c.Rank() == 1 {
			return c.Barrier(ctx)
		}
		_, err := c.Split(ctx, 0, 0)
		return err
	})
	requireFailed(t, errs, runtime.ErrMismatch)
}

// testCrashApart: a lost rank fails every communicator that contains it, and no other.
func testCrashApart(t *testing.T, with network) {
	const size, dead = 6, 5
	comms := join(t, mortals(with, dead), size, runtime.Config{Stall: 20 * time.Millisecond})
	halves := divide(t, comms, parity, identity)
	twins := divide(t, comms, constant, identity)
	exercise(t, twins)
	for _, list := range [][]*runtime.Comm{twins, halves, comms} {
		require.NoError(t, list[dead].Close())
	}
	for _, list := range [][]*runtime.Comm{twins[:dead], comms[:dead], {halves[1], halves[3]}} {
		errs := each(t, list, func(ctx context.Context, c *runtime.Comm) error { return c.Barrier(ctx) })
		for rank, err := range errs {
			lost := errors.Is(err, runtime.ErrPeerLost) || errors.Is(err, runtime.ErrAborted)
			assert.True(t, lost, "rank %d: %v", rank, err)
		}
	}
	exercise(t, []*runtime.Comm{halves[0], halves[2], halves[4]})
}
