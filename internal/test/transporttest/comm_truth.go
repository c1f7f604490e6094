package transporttest

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/schedgen/schedgen/internal/test/heavy"
	"github.com/schedgen/schedgen/runtime"
)

// testTruth: all ranks get the same reason, even if every rank closes its communicator as soon as
// it knows the reason, and so before others have heard of it.
func testTruth(t *testing.T, with network) {
	for _, ranks := range heavy.Or([]int{2, 5}, []int{2, 3, 5, 8}) {
		odd := ranks / 2
		for _, m := range mismatches(ranks, odd) {
			with.run(t, fmt.Sprintf("%s/ranks=%d", m.name, ranks), func(t *testing.T) { testMismatchTold(t, with, ranks, odd, &m) })
		}
		with.run(t, fmt.Sprintf("death/ranks=%d", ranks), func(t *testing.T) { testDeathTold(t, with, ranks, odd) })
	}
	for name, ranks := range map[string]int{"barrier/dissemination": 5, "barrier/hsb": 8} {
		with.run(t, fmt.Sprintf("deadline/%s/ranks=%d", name, ranks), func(t *testing.T) { testLateNamed(t, with, ranks, ranks/2, name) })
	}
}

func untilFailed(ctx context.Context, c *runtime.Comm, call func(ctx context.Context, c *runtime.Comm) error) error {
	for {
		if err := call(ctx, c); err != nil {
			return errors.Join(err, c.Close())
		}
	}
}

// testDeathTold: all survivors name the dead rank, and no other.
func testDeathTold(t *testing.T, with network, ranks, dead int) {
	comms := join(t, mortals(with, dead), ranks, runtime.Config{Stall: 20 * time.Millisecond})
	barrier := func(ctx context.Context, c *runtime.Comm) error { return c.Barrier(ctx) }
	all(t, comms, barrier)
	errs := each(t, comms, func(ctx context.Context, c *runtime.Comm) error {
		if c.Rank() == dead {
			return c.Close()
		}
		return untilFailed(ctx, c, barrier)
	})
	for rank, err := range errs {
		if rank != dead {
			requireNames(t, err, runtime.ErrPeerLost, dead)
		}
	}
}

func requireNames(t *testing.T, err, target error, rank int) {
	t.Helper()
	require.ErrorIs(t, err, target)
	var about *runtime.RankError
	require.ErrorAs(t, err, &about)
	require.Equal(t, rank, about.Rank, "%v", err)
}

// testLateNamed: if a deadline passes because one rank does not come, the errors of all ranks name
// that rank, if there is time to ask.
func testLateNamed(t *testing.T, with network, ranks, late int, name string) {
	comms := join(t, with, ranks, runtime.Config{
		Stall: 5 * time.Millisecond, Algorithms: runtime.Algorithms{"barrier": {Name: name}},
	})
	barrier := func(ctx context.Context, c *runtime.Comm) error { return c.Barrier(ctx) }
	all(t, comms, barrier)
	errs := each(t, comms, func(ctx context.Context, c *runtime.Comm) error {
		if c.Rank() == late {
			for c.Err() == nil { // it comes too late
				time.Sleep(time.Millisecond)
			}
			return barrier(ctx, c)
		}
		ctx, cancel := context.WithTimeout(ctx, 2*time.Second)
		defer cancel()
		return untilFailed(ctx, c, barrier)
	})
	for rank, err := range errs {
		require.ErrorIs(t, err, context.DeadlineExceeded, "rank %d", rank)
		require.NotErrorIs(t, err, runtime.ErrPeerLost, "rank %d", rank)
		require.NotErrorIs(t, err, runtime.ErrPeerLeft, "rank %d", rank)
		requireNames(t, err, context.DeadlineExceeded, late)
	}
}
