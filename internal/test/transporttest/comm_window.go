package transporttest

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/schedgen/schedgen/runtime"
	"github.com/schedgen/schedgen/runtime/wire"
)

// byWindows is a configuration with which all operations use windows, if there are any.
var byWindows = runtime.Config{Algorithms: runtime.Algorithms{"barrier": {Name: "barrier/dissemination"}, "bcast": {Name: "bcast/linear"}}}

func dup(ctx context.Context, c *runtime.Comm) (*runtime.Comm, error) { return c.Dup(ctx) }

// joinSets is join. It also reports whether any two of the ranks share windows of further
// communicators.
func joinSets(t *testing.T, with network, size int) (comms []*runtime.Comm, shared bool) {
	bare := with.make
	with.make = func(t testing.TB, size int) []wire.Transport {
		list := bare(t, size)
		w, sets := list[0].Windows().(wire.Sets)
		for rank := range size {
			shared = shared || sets && w.Reaches(rank)
		}
		return list
	}
	return join(t, with, size, byWindows), shared
}

// flagged reports whether operations of comms write flags.
func flagged(t *testing.T, comms []*runtime.Comm) bool {
	t.Helper()
	flags := func() (n uint64) {
		for _, c := range comms {
			n += c.Totals().Transport.Flags
		}
		return n
	}
	before := flags()
	all(t, comms, func(ctx context.Context, c *runtime.Comm) error {
		for root := range c.Size() {
			if err := bcast(ctx, c, uint64(root), buffer(20), root); err != nil {
				return err
			}
		}
		return c.Barrier(ctx)
	})
	return flags() > before
}

// testWindowsApart: as many communicators as there are sets have windows, and further ones use
// frames. Another communicator can use a set once all members have closed it.
func testWindowsApart(t *testing.T, with network) {
	comms, shared := joinSets(t, with, 3)
	var twins [][]*runtime.Comm
	for i := 1; i <= wire.WindowSets; i++ {
		twins = append(twins, derive(t, comms, dup))
		require.Equal(t, shared && i < wire.WindowSets, flagged(t, twins[i-1]), "communicator %d", i)
	}
	closeAll(t, twins[4])
	alone := divide(t, comms, identity, identity)
	require.False(t, flagged(t, alone), "nobody shares anything")
	twins[4] = derive(t, comms, dup)
	for i, list := range twins {
		require.Equal(t, shared && i+1 < wire.WindowSets, flagged(t, list), "communicator %d", i+1)
		exercise(t, list)
	}
	exercise(t, comms)
}

// testWindowsOfHeirs: the successor of a communicator that has lost ranks has windows too, again
// and again. No other communicator gets them.
func testWindowsOfHeirs(t *testing.T, with network) {
	const ranks = 5
	dead := []int{4, 3}
	comms, shared := joinSets(t, mortals(with, dead...), ranks)
	for _, lost := range dead {
		twins := derive(t, comms, dup)
		require.Equal(t, shared, flagged(t, twins))
		shrunk := make([]*runtime.Comm, len(comms))
		t.Cleanup(func() { closeAll(t, present(shrunk)) })
		all(t, comms, func(ctx context.Context, c *runtime.Comm) (err error) {
			if c.Rank() == lost {
				return errors.Join(twins[lost].Close(), c.Close())
			}
			if err := untilCallFails(ctx, c); !errors.Is(err, runtime.ErrPeerLost) {
				return err
			}
			shrunk[c.Rank()], err = c.Shrink(ctx)
			return err
		})
		comms = present(shrunk)
		require.Equal(t, shared, flagged(t, comms))
		beside := derive(t, comms, dup)
		require.Equal(t, shared, flagged(t, beside), "beside the shrunk one")
		closeAll(t, append(beside, twins[:lost]...))
	}
}

// testWindowsAgain makes communicators follow each other in the same windows and make different
// calls under the same numbers. The contents that one has left do not matter to the next.
func testWindowsAgain(t *testing.T, with network) {
	comms, _ := joinSets(t, with, 4)
	all(t, comms, func(ctx context.Context, c *runtime.Comm) error {
		for round := range 12 {
			child, err := c.Split(ctx, c.Rank()/(2+round%3), round*c.Rank()%3)
			if err != nil {
				return err
			}
			for i := range 50 {
				root := (i + round) % child.Size()
				if (i+round)%3 == 0 {
					err = child.Barrier(ctx)
				} else {
					err = bcast(ctx, child, uint64(i), buffer(10*(1+(i+round)%7)), root)
				}
				if err != nil {
					return fmt.Errorf("round %d, operation %d: %w", round, i+1, err)
				}
			}
			if err := child.Barrier(ctx); err != nil {
				return err
			}
			if err := child.Close(); err != nil {
				return err
			}
		}
		return nil
	})
}

// testWindowsMismatch: ranks that make different calls in a further communicator find out, and the
// first communicator continues.
func testWindowsMismatch(t *testing.T, with network) {
	const size, odd = 3, 2
	for _, m := range otherOperation(odd) {
		with.run(t, m.name, func(t *testing.T) {
			cfg := m.cfg(false)
			cfg.Stall = 20 * time.Millisecond
			comms := join(t, with, size, cfg)
			twins := derive(t, comms, dup)
			requireFailed(t, each(t, twins, func(ctx context.Context, c *runtime.Comm) error {
				return untilFailed(ctx, c, func(ctx context.Context, c *runtime.Comm) error { return m.call(ctx, c, c.Rank() == odd) })
			}), runtime.ErrMismatch)
			exercise(t, comms)
		})
	}
}

// testWindowsLent sends long messages of several communicators at once, and cancels calls.
func testWindowsLent(t *testing.T, with network) {
	comms, _ := joinSets(t, with, 3)
	twins, halves := derive(t, comms, dup), divide(t, comms, parity, identity)
	long := func(c *runtime.Comm) func(ctx context.Context) error {
		return func(ctx context.Context) error {
			for i := range 12 {
				if err := bcast(ctx, c, uint64(i), buffer(300_000), i%c.Size()); err != nil {
					return err
				}
			}
			return c.Barrier(ctx)
		}
	}
	all(t, comms, func(ctx context.Context, c *runtime.Comm) error {
		return together(ctx, long(c), long(twins[c.Rank()]), long(halves[c.Rank()]))
	})
	ctx, cancel := context.WithCancel(t.Context())
	errs := result()
	go func() { errs <- twins[0].Bcast(ctx, buffer(1<<20), 0) }()
	cancel()
	<-errs // it was faster, or was cancelled: the others have not called
	all(t, comms, func(ctx context.Context, c *runtime.Comm) error { return long(c)(ctx) })
}
