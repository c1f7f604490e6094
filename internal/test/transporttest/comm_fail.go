package transporttest

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/schedgen/schedgen/runtime"
	"github.com/schedgen/schedgen/runtime/wire"
	"github.com/schedgen/schedgen/schedule"
)

// testMismatch: ranks that call different things all get an error that says so, and none hangs,
// even if no frame of the operation would show the difference.
func testMismatch(t *testing.T, with network) {
	barrier := func(ctx context.Context, c *runtime.Comm) error { return c.Barrier(ctx) }
	from := func(n, root int) func(ctx context.Context, c *runtime.Comm) error {
		return func(ctx context.Context, c *runtime.Comm) error { return c.Bcast(ctx, buffer(n), root) }
	}
	cases := map[string][2]func(ctx context.Context, c *runtime.Comm) error{
		"collective":    {barrier, from(100, 0)},
		"root":          {from(100, 0), from(100, 1)},
		"root, waiting": {from(100, 1), from(100, 0)}, // each waits for the other
		"size":          {from(100, 0), from(101, 0)},
		"size, zero":    {from(0, 0), from(100000, 0)},
	}
	for name, calls := range cases {
		for _, ranks := range []int{2, 5} {
			with.run(t, fmt.Sprintf("%s/ranks=%d", name, ranks), func(t *testing.T) {
				comms := join(t, with, ranks, runtime.Config{Stall: 20 * time.Millisecond})
				errs := each(t, comms, func(ctx context.Context, c *runtime.Comm) error {
					if err := calls[min(1, c.Rank())](ctx, c); err != nil {
						return err
					}
					for { // a rank without an error learns of it from the others
						if err := c.Barrier(ctx); err != nil {
							return err
						}
					}
				})
				requireFailed(t, errs, runtime.ErrMismatch)
			})
		}
	}
	with.run(t, "algorithm", func(t *testing.T) {
		comms := joinEach(t, with, 3, func(rank int) runtime.Config {
			return runtime.Config{
				Stall:      20 * time.Millisecond,
				Algorithms: runtime.Algorithms{"barrier": {Name: "barrier/dissemination", Params: schedule.Params{Degree: 2 + rank%2}}},
			}
		})
		requireFailed(t, each(t, comms, barrier), runtime.ErrMismatch)
	})
}

// requireFailed checks that all ranks failed by target: the ranks that found it, and the others
// because these told them.
func requireFailed(t *testing.T, errs []error, target error) {
	t.Helper()
	direct := 0
	for rank, err := range errs {
		require.ErrorIs(t, err, target, "rank %d", rank)
		for _, other := range []error{context.DeadlineExceeded, runtime.ErrPeerLost} {
			if other != target {
				require.NotErrorIs(t, err, other, "rank %d", rank)
			}
		}
		if !errors.Is(err, runtime.ErrAborted) {
			direct++
		}
	}
	require.Positive(t, direct)
}

// testCancel: a cancelled call names the ranks that it waited for, and fails the communicator at
// all ranks.
func testCancel(t *testing.T, with network) {
	comms := join(t, with, 4, runtime.Config{})
	all(t, comms, func(ctx context.Context, c *runtime.Comm) error { return c.Barrier(ctx) })
	ctx, cancel := context.WithTimeout(t.Context(), 300*time.Millisecond)
	defer cancel()
	err := comms[1].Bcast(ctx, buffer(10), 0)
	require.ErrorIs(t, err, context.DeadlineExceeded)
	var op *runtime.OpError
	require.ErrorAs(t, err, &op)
	require.Equal(t, uint64(2), op.Seq)
	require.Equal(t, []int{0}, op.Waiting)
	require.NotEmpty(t, op.Missing)
	for _, c := range []int{0, 2, 3} {
		err := comms[c].Barrier(t.Context())
		require.ErrorIs(t, err, runtime.ErrAborted, "rank %d", c)
		require.ErrorIs(t, err, context.DeadlineExceeded, "rank %d", c)
		require.ErrorContains(t, err, "waiting for c0", "rank %d", c)
		require.ErrorContains(t, err, "from rank 0", "rank %d", c)
	}
	require.ErrorIs(t, comms[1].Barrier(t.Context()), context.DeadlineExceeded, "a failed communicator stays failed")
}

// testCrash: a rank that is gone without a goodbye fails all others.
func testCrash(t *testing.T, with network) {
	for _, ranks := range []int{2, 3, 6} {
		with.run(t, fmt.Sprint("ranks=", ranks), func(t *testing.T) {
			comms := join(t, mortals(with, ranks-1), ranks, runtime.Config{Stall: 20 * time.Millisecond})
			all(t, comms, func(ctx context.Context, c *runtime.Comm) error { return c.Barrier(ctx) })
			require.NoError(t, comms[ranks-1].Close())
			errs := each(t, comms[:ranks-1], func(ctx context.Context, c *runtime.Comm) error { return c.Barrier(ctx) })
			requireFailed(t, errs, runtime.ErrPeerLost)
		})
	}
}

// mortal is a transport that ends without a goodbye.
type mortal struct{ wire.Transport }

func (m mortal) Put(to int, f *wire.Frame) {
	if f.Kind != wire.FrameLeave && f.Kind != wire.FrameAbort {
		m.Transport.Put(to, f)
	}
}

func (m mortal) Close(bool, time.Duration) error { return m.Transport.Close(false, 0) }

// testLeave: a rank that closes is missed only by operations that start later.
func testLeave(t *testing.T, with network) {
	comms := join(t, with, 5, runtime.Config{Stall: 20 * time.Millisecond})
	// A rank that is gone counts as lost if it was never heard of. The barrier makes all ranks
	// known to each other.
	all(t, comms, func(ctx context.Context, c *runtime.Comm) error { return c.Barrier(ctx) })
	all(t, comms, func(ctx context.Context, c *runtime.Comm) error {
		buf := buffer(5000)
		for i := range uint64(20) {
			if err := bcast(ctx, c, i, buf, 0); err != nil {
				return err
			}
		}
		if c.Rank() == 0 || c.Rank() == 3 {
			return c.Close()
		}
		return nil
	})
	errs := each(t, []*runtime.Comm{comms[1], comms[2], comms[4]}, func(ctx context.Context, c *runtime.Comm) error { return c.Barrier(ctx) })
	requireFailed(t, errs, runtime.ErrPeerLeft)
	require.ErrorIs(t, comms[0].Barrier(t.Context()), runtime.ErrClosed)
}

// testFarewell: a rank may close as soon as its last operation returns. This holds even if others
// still put to it what it has by multicast, on connections that they have yet to open.
func testFarewell(t *testing.T, with network) {
	for name := range with.broadcasts {
		for _, hosts := range []int{0, 2} {
			with.run(t, fmt.Sprintf("%s/hosts=%d", name, hosts), func(t *testing.T) {
				comms := join(t, with, 6, runtime.Config{
					Algorithms: runtime.Algorithms{"bcast": {Name: name, Params: schedule.Params{Hosts: hosts}}}, Repair: 2 * time.Millisecond,
				})
				all(t, comms, func(ctx context.Context, c *runtime.Comm) error {
					if err := bcast(ctx, c, 1, buffer(3000), 2); err != nil {
						return err
					}
					return c.Close()
				})
			})
		}
	}
}

// testClose: Close ends running calls, and may be called twice.
func testClose(t *testing.T, with network) {
	comms := join(t, with, 3, runtime.Config{})
	errs := result()
	go func() {
		_, err := comms[0].Next(context.Background())
		errs <- err
	}()
	ended := signal()
	go func() {
		defer close(ended)
		turns := 0
		for _, err := range comms[1].Messages(context.Background()) {
			turns++
			assert.ErrorIs(t, err, runtime.ErrClosed, "nobody has published")
		}
		assert.Equal(t, 1, turns, "the error ends it")
	}()
	require.NoError(t, comms[1].Close())
	<-ended
	require.ErrorIs(t, comms[1].Err(), runtime.ErrClosed)
	require.NoError(t, comms[0].Close())
	require.ErrorIs(t, <-errs, runtime.ErrClosed)
	require.NoError(t, comms[0].Close())
	require.ErrorIs(t, comms[0].Publish(t.Context(), nil), runtime.ErrClosed)
	require.ErrorIs(t, comms[0].Err(), runtime.ErrClosed)
}

// testRefused: a call with invalid arguments does nothing.
func testRefused(t *testing.T, with network) {
	comms := join(t, with, 2, runtime.Config{})
	require.ErrorIs(t, comms[0].Bcast(t.Context(), nil, 2), runtime.ErrInput)
	require.ErrorIs(t, comms[0].Bcast(t.Context(), nil, -1), runtime.ErrInput)
	all(t, comms, func(ctx context.Context, c *runtime.Comm) error { return c.Barrier(ctx) })
}
