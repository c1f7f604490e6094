package transporttest

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/schedgen/schedgen/runtime"
	"github.com/schedgen/schedgen/runtime/wire"
)

// testAgree: all ranks get the flags that all have given, several times, and beside operations.
func testAgree(t *testing.T, with network) {
	for _, ranks := range []int{1, 2, 3, 6} {
		with.run(t, fmt.Sprint("ranks=", ranks), func(t *testing.T) {
			comms := join(t, with, ranks, runtime.Config{})
			all(t, comms, func(ctx context.Context, c *runtime.Comm) error {
				for turn := range 10 {
					flags := ^uint32(0)
					if c.Rank() == turn%ranks {
						flags = ^(uint32(1) << turn)
					}
					agreed, gone, err := c.Agree(ctx, flags)
					if err != nil || agreed != ^(uint32(1)<<turn) || gone != nil {
						return fmt.Errorf("turn %d: agreed on %x without %v: %w", turn, agreed, gone, err)
					}
					if err := c.Barrier(ctx); err != nil {
						return err
					}
				}
				return nil
			})
		})
	}
	with.run(t, "late", func(t *testing.T) { testAgreeLate(t, with) })
	t.Run("left", func(t *testing.T) { testAgreeLeft(t, with) })
}

// testAgreeLate: a rank that has given up waiting gets the agreed flags when it asks again, even if
// they have arrived meanwhile.
func testAgreeLate(t *testing.T, with network) {
	comms := join(t, with, 3, runtime.Config{})
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Millisecond)
	defer cancel()
	for _, c := range comms[1:] {
		_, _, err := c.Agree(ctx, 6)
		require.ErrorIs(t, err, context.DeadlineExceeded)
		require.NoError(t, c.Err())
	}
	_, _, err := comms[0].Agree(t.Context(), 3)
	require.NoError(t, err)
	all(t, comms, func(ctx context.Context, c *runtime.Comm) error { return c.Barrier(ctx) })
	all(t, comms[1:], func(ctx context.Context, c *runtime.Comm) error {
		agreed, _, err := c.Agree(ctx, 3)
		if agreed != 2 {
			return errors.Join(fmt.Errorf("agreed on %x", agreed), err)
		}
		return err
	})
}

// testAgreeLeft: a rank that has closed takes no part in an agreement, and is named.
func testAgreeLeft(t *testing.T, with network) {
	for _, left := range []int{0, 3, 4} {
		with.run(t, fmt.Sprint("rank=", left), func(t *testing.T) {
			comms := join(t, with, 5, runtime.Config{})
			all(t, comms, func(ctx context.Context, c *runtime.Comm) error {
				if c.Rank() == left {
					return c.Close()
				}
				agreed, gone, err := c.Agree(ctx, 5)
				if agreed != 5 || !slices.Equal(gone, []int{left}) {
					return errors.Join(fmt.Errorf("agreed on %x without %v", agreed, gone), err)
				}
				return err
			})
		})
	}
}

// testShrink: the survivors of deaths name the same dead ranks, and continue without them.
func testShrink(t *testing.T, with network) {
	for _, c := range []struct {
		ranks int
		dead  []int
	}{{2, []int{0}}, {2, []int{1}}, {3, []int{0}}, {5, []int{0, 4}}, {5, []int{2}}, {8, []int{1, 2, 4}}} {
		with.run(t, fmt.Sprintf("ranks=%d/dead=%v", c.ranks, c.dead), func(t *testing.T) {
			comms := join(t, mortals(with, c.dead...), c.ranks, runtime.Config{Stall: 20 * time.Millisecond})
			all(t, comms, goOnWithout(c.dead))
		})
	}
	with.run(t, "again", func(t *testing.T) {
		comms := join(t, mortals(with, 0, 1, 2, 3), 5, runtime.Config{Stall: 20 * time.Millisecond})
		all(t, comms, shrinkToOne)
	})
	with.run(t, "nobody", func(t *testing.T) {
		comms := join(t, with, 4, runtime.Config{Stall: 20 * time.Millisecond})
		all(t, comms, func(ctx context.Context, c *runtime.Comm) error { return shrinkAndUse(ctx, c, c.Size()) })
	})
}

// mortals returns a network in which some ranks can only end without a goodbye.
func mortals(with network, dead ...int) network {
	immortal := with.make
	with.make = func(t testing.TB, size int) []wire.Transport {
		ts := immortal(t, size)
		for _, d := range dead {
			ts[d] = mortal{ts[d]}
		}
		return ts
	}
	return with
}

// goOnWithout makes some ranks die after a barrier, and the others shrink.
func goOnWithout(dead []int) func(ctx context.Context, c *runtime.Comm) error {
	return func(ctx context.Context, c *runtime.Comm) error {
		err := c.Barrier(ctx) // some may die before others return
		if slices.Contains(dead, c.Rank()) {
			return c.Close()
		}
		if err == nil {
			err = untilCallFails(ctx, c)
		}
		var lost *runtime.LostError
		if !errors.As(err, &lost) || !errors.Is(err, runtime.ErrPeerLost) {
			return fmt.Errorf("not lost: %w", err)
		}
		return shrinkAndUse(ctx, c, c.Size()-len(dead))
	}
}

func untilCallFails(ctx context.Context, c *runtime.Comm) (err error) {
	for err == nil {
		err = c.Barrier(ctx)
	}
	return err
}

// shrinkAndUse shrinks c until it contains no rank that has gone, and uses the result.
func shrinkAndUse(ctx context.Context, c *runtime.Comm, left int) error {
	for {
		next, err := c.Shrink(ctx)
		if err != nil {
			return err
		}
		if err := c.Barrier(ctx); err == nil {
			return errors.New("the one that was shrunk works")
		}
		if c = next; c.Size() > left {
			if err := untilCallFails(ctx, c); !errors.Is(err, runtime.ErrPeerLost) {
				return err
			}
			continue
		}
		return errors.Join(useAll(ctx, c), c.Close())
	}
}

// useAll performs each kind of operation in c.
func useAll(ctx context.Context, c *runtime.Comm) error {
	buf := buffer(100_000)
	for root := range c.Size() {
		if err := bcast(ctx, c, uint64(root), buf, root); err != nil {
			return err
		}
	}
	if err := c.Publish(ctx, []byte{byte(c.Rank())}); err != nil {
		return err
	}
	heard := map[int]bool{c.Rank(): true}
	for len(heard) < c.Size() {
		m, err := c.Next(ctx)
		if err != nil {
			return err
		}
		heard[int(m.Data[0])] = true
	}
	if agreed, gone, err := c.Agree(ctx, 1); err != nil || agreed != 1 || gone != nil {
		return fmt.Errorf("agreed on %x without %v: %w", agreed, gone, err)
	}
	return c.Barrier(ctx)
}

// shrinkToOne makes the ranks die one after the other, the lowest first, until one is left.
func shrinkToOne(ctx context.Context, c *runtime.Comm) error {
	for c.Size() > 1 {
		err := useAll(ctx, c)
		if c.Rank() == 0 {
			return errors.Join(err, c.Close())
		}
		if err == nil { // rank 0 may die before others return
			err = untilCallFails(ctx, c)
		}
		if !errors.Is(err, runtime.ErrPeerLost) {
			return err
		}
		if c, err = c.Shrink(ctx); err != nil {
			return err
		}
	}
	return errors.Join(useAll(ctx, c), c.Close())
}
