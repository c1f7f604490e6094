package runtime_test

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/schedgen/schedgen/runtime"
	"github.com/schedgen/schedgen/runtime/mem"
	"github.com/schedgen/schedgen/runtime/wire"
)

var errNoRoom = errors.New("no room")

// cramped is the transport of a rank that cannot make the windows of further communicators.
type cramped struct {
	*mem.Transport
	fits bool // it can
}

func (c *cramped) Windows() wire.Windows { return crampedSets{c.Transport.Windows().(wire.Sets), c} }

type crampedSets struct {
	wire.Sets
	of *cramped
}

func (s crampedSets) OpenSet(set int, members []int, epoch uint32) (wire.Shelves, error) {
	w, err := s.Sets.OpenSet(set, members, epoch)
	if !s.of.fits {
		s.Sets.CloseSet(set)
		return nil, errNoRoom
	}
	return w, err
}

// crampedAt joins size ranks, of which guilty is cramped.
func crampedAt(t *testing.T, size, guilty int) ([]*runtime.Comm, *cramped) {
	trs, err := mem.New(size, mem.Options{Windows: true})
	require.NoError(t, err)
	comms, at := make([]*runtime.Comm, size), &cramped{Transport: trs[guilty]}
	for rank, tr := range trs {
		cfg := runtime.Config{Transport: tr}
		if rank == guilty {
			cfg.Transport = at
		}
		comms[rank], err = runtime.Join(t.Context(), cfg)
		require.NoError(t, err)
	}
	return comms, at
}

// If one rank cannot make its windows, no rank gets a communicator from Dup or Split. All ranks name
// that rank and its reason at once, and the communicator that was to be split works. When the rank
// has room again, all sets of windows are free.
func TestRankWithoutRoomForWindows(t *testing.T) {
	const size = 5
	split := func(color func(rank int) int) func(*runtime.Comm) (*runtime.Comm, error) {
		return func(c *runtime.Comm) (*runtime.Comm, error) { return c.Split(context.Background(), color(c.Rank()), 0) }
	}
	for name, derive := range map[string]func(*runtime.Comm) (*runtime.Comm, error){
		"dup":       func(c *runtime.Comm) (*runtime.Comm, error) { return c.Dup(context.Background()) },
		"split":     split(func(rank int) int { return rank % 2 }),
		"undefined": split(func(rank int) int { return rank%3 - 1 }),
	} {
		for _, guilty := range []int{1, 4} {
			t.Run(fmt.Sprintf("%s/%d", name, guilty), func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					comms, at := crampedAt(t, size, guilty)
					start := time.Now()
					for range wire.WindowSets { // a set that stayed in use would be missing soon
						require.NoError(t, each(comms, func(c *runtime.Comm) error {
							child, err := derive(c)
							var of *runtime.RankError
							switch {
							case child != nil, !errors.As(err, &of), !errors.Is(err, runtime.ErrRefused):
								return fmt.Errorf("rank %d: %v, %w", c.Rank(), child, err)
							case of.Rank != guilty || of.Err.Error() != runtime.ErrRefused.Error()+": "+errNoRoom.Error():
								return fmt.Errorf("rank %d: %w", c.Rank(), err)
							}
							return c.Barrier(context.Background())
						}))
					}
					require.Zero(t, time.Since(start))
					at.fits = true
					require.NoError(t, each(comms, func(c *runtime.Comm) error {
						child, err := derive(c)
						if child == nil {
							return errors.Join(err, c.Close())
						}
						return errors.Join(err, child.Barrier(context.Background()), child.Close(), c.Close())
					}))
				})
			})
		}
	}
}

// A rank that cannot make the windows after Shrink fails the new communicator at all ranks.
func TestRankWithoutRoomShrinks(t *testing.T) {
	const size, guilty = 4, 2
	synctest.Test(t, func(t *testing.T) {
		comms, at := crampedAt(t, size, guilty)
		start := time.Now()
		next := make([]*runtime.Comm, size)
		require.NoError(t, each(comms, func(c *runtime.Comm) (err error) {
			next[c.Rank()], err = c.Shrink(context.Background())
			return err
		}))
		for rank, c := range next {
			err := c.Barrier(context.Background())
			require.ErrorContains(t, err, errNoRoom.Error())
			if rank != guilty {
				var of *runtime.RankError
				require.ErrorAs(t, err, &of)
				require.Equal(t, guilty, of.Rank)
			}
		}
		at.fits = true
		require.NoError(t, each(next, func(c *runtime.Comm) error {
			c, err := c.Shrink(context.Background())
			if err != nil {
				return err
			}
			return errors.Join(c.Barrier(context.Background()), c.Close())
		}))
		require.Less(t, time.Since(start), time.Second)
	})
}
