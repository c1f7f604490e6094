package schedgen_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/schedgen/schedgen"
	"github.com/schedgen/schedgen/runtime"
	"github.com/schedgen/schedgen/runtime/mem"
)

// TestErrorsAreOfBothPackages checks that an error has the types of this package and those of
// package runtime.
func TestErrorsAreOfBothPackages(t *testing.T) {
	synctest.Test(t, errorsAreOfBothPackages)
}

func errorsAreOfBothPackages(t *testing.T) {
	comms := group(t, 2, schedgen.Config{})
	require.NoError(t, each(comms, func(c *schedgen.Comm) error {
		ctx, cancel := context.WithCancel(t.Context())
		if c.Rank() == 1 {
			synctest.Wait() // until rank 0 is inside the barrier
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

// calls has all collectives, with one element a block.
var calls = []struct {
	name string
	call func(ctx context.Context, c *schedgen.Comm) error
}{
	{"Bcast", func(ctx context.Context, c *schedgen.Comm) error { return schedgen.Bcast(ctx, c, make([]int, 1), 0) }},
	{"Scatter", func(ctx context.Context, c *schedgen.Comm) error {
		var src []int
		if c.Rank() == 1 {
			src = make([]int, c.Size())
		}
		return schedgen.Scatter(ctx, c, make([]int, 1), src, 1)
	}},
	{"Gather", func(ctx context.Context, c *schedgen.Comm) error {
		var dst []int
		if c.Rank() == 1 {
			dst = make([]int, c.Size())
		}
		return schedgen.Gather(ctx, c, dst, make([]int, 1), 1)
	}},
	{"Allgather", func(ctx context.Context, c *schedgen.Comm) error {
		return schedgen.Allgather(ctx, c, make([]int, c.Size()), make([]int, 1))
	}},
	{"Alltoall", func(ctx context.Context, c *schedgen.Comm) error {
		return schedgen.Alltoall(ctx, c, make([]int, c.Size()), make([]int, c.Size()))
	}},
	{"BcastBytes", func(ctx context.Context, c *schedgen.Comm) error {
		_, err := schedgen.BcastBytes(ctx, c, nil, 1)
		return err
	}},
	{"GatherBytes", func(ctx context.Context, c *schedgen.Comm) error {
		_, err := schedgen.GatherBytes(ctx, c, []byte("value"), 1)
		return err
	}},
	{"AlltoallBytes", func(ctx context.Context, c *schedgen.Comm) error {
		_, err := schedgen.AlltoallBytes(ctx, c, make([][]byte, c.Size()))
		return err
	}},
	{"Barrier", schedgen.Barrier},
}

// TestLostRanks checks that survivors get the same list of lost ranks from any call, and go on
// without them.
func TestLostRanks(t *testing.T) {
	for _, one := range calls {
		t.Run(one.name, func(t *testing.T) {
			transports, err := mem.New(4, mem.Options{})
			require.NoError(t, err)
			comms := make([]*schedgen.Comm, 4)
			for rank := range comms {
				comms[rank], err = schedgen.Join(t.Context(), schedgen.Config{Transport: transports[rank]})
				require.NoError(t, err)
			}
			require.NoError(t, each(comms, func(c *schedgen.Comm) error { return one.call(t.Context(), c) }))
			require.NoError(t, each(comms, func(c *schedgen.Comm) error { return schedgen.Barrier(t.Context(), c) }))
			require.NoError(t, transports[2].Close(false, 0)) // rank 2 dies
			survivors := slices.Delete(slices.Clone(comms), 2, 3)
			require.NoError(t, each(survivors, func(c *schedgen.Comm) error { return goOn(t, c, one.call) }))
		})
	}
}

// goOn calls a collective at a surviving rank. Rank 2 of 4 is lost.
func goOn(t *testing.T, c *schedgen.Comm, call func(ctx context.Context, c *schedgen.Comm) error) error {
	ctx := t.Context()
	err := call(ctx, c)
	if err == nil { // a rank may need nothing from rank 2
		err = schedgen.Barrier(ctx, c)
	}
	var lost *schedgen.LostError
	var of *schedgen.RankError
	switch {
	case !errors.As(err, &lost):
		return fmt.Errorf("rank %d: no LostError: %w", c.Rank(), err)
	case !slices.Equal(lost.Ranks, []int{2}) || !strings.Contains(err.Error(), lost.Error()):
		return fmt.Errorf("rank %d: %+v of %w", c.Rank(), lost, err)
	case !errors.As(lost, &of) || of.Rank != 2 || !errors.Is(lost, schedgen.ErrPeerLost):
		return fmt.Errorf("rank %d: the error does not wrap that rank 2 is lost: %w", c.Rank(), lost)
	}
	agreed, gone, err := c.Agree(ctx, 1<<c.Rank()|1<<9)
	if err != nil || agreed != 1<<9 || !slices.Equal(gone, []int{2}) {
		return fmt.Errorf("rank %d: agreed on %b without %v: %w", c.Rank(), agreed, gone, err)
	}
	next, err := c.Shrink(ctx)
	if err != nil {
		return err
	}
	if next.Size() != 3 {
		return fmt.Errorf("%d ranks are left", next.Size())
	}
	if err := call(ctx, c); !errors.Is(err, schedgen.ErrClosed) || !errors.As(err, &lost) {
		return fmt.Errorf("rank %d: want %w because of the loss, got %w", c.Rank(), schedgen.ErrClosed, err)
	}
	return errors.Join(call(ctx, next), schedgen.Barrier(ctx, next), next.Close())
}

// TestOthersOfARefusedCall checks that a rank with a refused call may leave: the others do not wait
// for it for ever.
func TestOthersOfARefusedCall(t *testing.T) {
	comms := group(t, 3, schedgen.Config{})
	require.NoError(t, each(comms, func(c *schedgen.Comm) error {
		src := make([]int, 2)
		if c.Rank() == 1 {
			src = make([]int, 3)
		}
		err := schedgen.Allgather(t.Context(), c, make([]int, 6), src)
		want := schedgen.ErrPeerLeft
		if c.Rank() == 1 {
			want = schedgen.ErrInput
		}
		if !errors.Is(err, want) {
			return fmt.Errorf("rank %d: want %w, got %w", c.Rank(), want, err)
		}
		return c.Close()
	}))
}

// TestAllGetTheWordsOfARefusedCall checks that all ranks get the words of a refused call if its
// rank lives on without another call.
func TestAllGetTheWordsOfARefusedCall(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		comms := group(t, 3, schedgen.Config{})
		for _, c := range comms {
			defer c.Close()
		}
		var wg sync.WaitGroup
		for _, c := range comms {
			wg.Go(func() {
				var dst []int
				if c.Rank() == 0 {
					dst = make([]int, 5)
				}
				err := schedgen.Gather(t.Context(), c, dst, make([]int, 2), 0)
				if c.Rank() == 0 {
					assert.ErrorIs(t, err, schedgen.ErrInput)
					return
				}
				if err == nil { // it has sent its block and waits for nobody
					err = schedgen.Barrier(t.Context(), c)
				}
				assert.ErrorIs(t, err, schedgen.ErrMismatch)
				assert.ErrorContains(t, err, "rank 0 has refused operation 1: Gather: dst has 5 elements and src 2, want 6 in dst")
			})
		}
		wg.Wait()
		require.ErrorIs(t, schedgen.Barrier(t.Context(), comms[0]), schedgen.ErrMismatch, "also where it was refused")
	})
}

// TestShrinkAfterARankHasLeft checks that ranks can go on without one that panics while Close is
// deferred.
func TestShrinkAfterARankHasLeft(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		require.NoError(t, each(group(t, 3, schedgen.Config{}), func(c *schedgen.Comm) error {
			if c.Rank() == 1 {
				defer func() { assert.Equal(t, "a fault", recover()) }()
				defer c.Close()
				panic("a fault")
			}
			err := schedgen.Barrier(t.Context(), c)
			if !errors.Is(err, schedgen.ErrPeerLeft) || errors.Is(err, schedgen.ErrPeerLost) {
				return fmt.Errorf("rank %d: want %w, got %w", c.Rank(), schedgen.ErrPeerLeft, err)
			}
			next, err := c.Shrink(t.Context())
			if err != nil {
				return err
			}
			assert.Equal(t, 2, next.Size())
			return errors.Join(schedgen.Barrier(t.Context(), next), next.Close())
		}))
	})
}

// TestBusyNamesTheCall checks that the error of a call beside another one names its function and
// the rank, like that of a call with wrong arguments.
func TestBusyNamesTheCall(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		comms := group(t, 2, schedgen.Config{})
		var wg sync.WaitGroup
		wg.Go(func() { assert.NoError(t, schedgen.Barrier(t.Context(), comms[1])) })
		synctest.Wait() // until rank 1 is inside the barrier
		one, counts := make([]int, 1), []int{1, 0}
		_, split := comms[1].Dup(t.Context())
		_, start := schedgen.StartReduceTo(t.Context(), comms[1], nil, one, schedgen.Sum, 0)
		for fn, err := range map[string]error{
			"Barrier":        schedgen.Barrier(t.Context(), comms[1]),
			"Bcast":          schedgen.Bcast(t.Context(), comms[1], one, 0),
			"Allgather":      schedgen.Allgather(t.Context(), comms[1], make([]int, 2), one),
			"Scatterv":       schedgen.Scatterv(t.Context(), comms[1], one[:0], nil, nil, 0),
			"Allreduce":      schedgen.Allreduce(t.Context(), comms[1], one, schedgen.Sum),
			"ReduceScatterv": schedgen.ReduceScatterv(t.Context(), comms[1], one[:0], make([]int, 1), counts, schedgen.Sum),
			"StartReduceTo":  start,
			"Dup":            split,
		} {
			assert.ErrorIs(t, err, schedgen.ErrBusy)
			assert.EqualError(t, err, fn+": rank 1 of 2: another goroutine is inside a collective call of this communicator")
		}
		assert.NoError(t, schedgen.Barrier(t.Context(), comms[0]))
		wg.Wait()
		closeAll(t, comms)
	})
}
