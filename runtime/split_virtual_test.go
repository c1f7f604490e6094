package runtime_test

import (
	"context"
	"errors"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/schedgen/schedgen/runtime"
	"github.com/schedgen/schedgen/runtime/mem"
	"github.com/schedgen/schedgen/schedule"
)

// duplicated calls f with communicators and their duplicates, and closes the duplicates.
func duplicated(t *testing.T, size int, cfg runtime.Config, f func(comms, twins []*runtime.Comm)) {
	virtual(t, size, mem.Options{}, cfg, func(comms []*runtime.Comm) {
		twins := make([]*runtime.Comm, size)
		require.NoError(t, each(comms, func(c *runtime.Comm) (err error) {
			twins[c.Rank()], err = c.Dup(context.Background())
			return err
		}))
		f(comms, twins)
		for _, c := range twins {
			require.NoError(t, c.Close())
		}
	})
}

// deserted reports whether err is that of a rank that knows, directly or from another, that a rank
// has gone.
func deserted(err error) bool {
	return errors.Is(err, runtime.ErrPeerLost) || errors.Is(err, runtime.ErrAborted)
}

// A rank that closes one communicator inside an operation fails that communicator at all ranks at
// once, although no connection ends.
func TestCloseInsideAnOperation(t *testing.T) {
	duplicated(t, 5, runtime.Config{Stall: time.Hour}, func(comms, twins []*runtime.Comm) {
		errs := make(chan error, 4)
		for _, c := range twins[:4] {
			go func() { errs <- c.Barrier(context.Background()) }()
		}
		synctest.Wait()
		start := time.Now()
		require.NoError(t, twins[0].Close())
		closed, lost := 0, 0
		for range 4 {
			switch err := <-errs; {
			case errors.Is(err, runtime.ErrClosed):
				closed++
			case deserted(err):
				lost++
			}
		}
		require.Equal(t, []int{1, 3}, []int{closed, lost})
		require.True(t, deserted(twins[4].Barrier(context.Background())), "who was not inside knows it too")
		require.Less(t, time.Since(start), time.Second)
		require.NoError(t, each(comms, func(c *runtime.Comm) error { return c.Barrier(context.Background()) }))
	})
}

// Peers hear that the last communicator of a process has ended badly, although another one ended in
// good order and the transport says goodbye.
func TestCloseInsideAfterGoodbye(t *testing.T) {
	duplicated(t, 5, runtime.Config{Stall: time.Hour}, func(comms, twins []*runtime.Comm) {
		require.NoError(t, comms[2].Close())
		errs := make(chan error, 1)
		go func() { errs <- twins[2].Barrier(context.Background()) }()
		synctest.Wait()
		require.NoError(t, twins[2].Close())
		require.ErrorIs(t, <-errs, runtime.ErrClosed)
		for _, c := range []*runtime.Comm{twins[0], twins[1], twins[3], twins[4]} {
			require.True(t, deserted(c.Barrier(context.Background())))
		}
		require.ErrorIs(t, comms[0].Barrier(context.Background()), runtime.ErrPeerLeft)
	})
}

// While a process computes the background serves all its communicators.
func TestBackgroundServesAllCommunicators(t *testing.T) {
	cfg := runtime.Config{Algorithms: runtime.Algorithms{"bcast": {Name: "bcast/mcast-acktree"}, "anycast": {Name: "anycast/skip-ring"}}}
	duplicated(t, 8, cfg, func(comms, twins []*runtime.Comm) {
		for i, list := range [][]*runtime.Comm{comms, twins} {
			require.NoError(t, list[i].Publish(context.Background(), []byte{byte(i)}))
		}
		start := time.Now()
		for i, list := range [][]*runtime.Comm{comms, twins} {
			for _, c := range list {
				if c.Rank() != i { // one after the other: ranks on the way are inside no call
					m, err := c.Next(context.Background())
					require.NoError(t, err)
					require.Equal(t, []byte{byte(i)}, m.Data)
				}
			}
		}
		require.LessOrEqual(t, time.Since(start), 100*10*time.Millisecond)
	})
}

// A schedule given to one communicator is not used by others.
func TestUseIsOfOneCommunicator(t *testing.T) {
	duplicated(t, 4, runtime.Config{}, func(comms, twins []*runtime.Comm) {
		s := known(t, "barrier/dissemination", schedule.Params{Ranks: 4})
		for _, c := range twins {
			require.NoError(t, c.Use(s))
		}
		for _, list := range [][]*runtime.Comm{comms, twins} {
			ctx, cancel := context.WithTimeout(context.Background(), time.Second)
			defer cancel()
			var op *runtime.OpError
			require.ErrorAs(t, list[0].Barrier(ctx), &op)
			require.Equal(t, map[bool]string{true: "barrier/dissemination", false: "barrier/hsb"}[list[0] == twins[0]], op.Op)
		}
	})
}

// A Dup at one rank and a Split at the others, even one that all ranks give one color, are different
// calls.
func TestSplitAndDupDiffer(t *testing.T) {
	cfg := runtime.Config{Stall: 20 * time.Millisecond}
	synctest.Test(t, func(t *testing.T) {
		comms := group(t, 4, mem.Options{}, cfg)
		errs := make([]error, len(comms))
		var all sync.WaitGroup
		for rank, c := range comms {
			all.Go(func() {
				if rank == 1 {
					_, errs[rank] = c.Dup(t.Context())
				} else {
					_, errs[rank] = c.Split(t.Context(), 0, 0)
				}
			})
		}
		all.Wait()
		for rank, c := range comms {
			require.ErrorIs(t, errs[rank], runtime.ErrMismatch, "rank %d", rank)
			require.ErrorContains(t, errs[rank], "of a split")
			require.ErrorContains(t, errs[rank], "of a dup")
			c.Close()
		}
	})
}
