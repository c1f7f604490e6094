package mcast_test

import (
	"context"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/schedgen/schedgen/runtime"
	"github.com/schedgen/schedgen/runtime/mcast"
)

// The groups of communicators that share a transport.

// communicators returns the communicators of all ranks. Their broadcasts are multicast, and chunks
// are put only on request. No rank makes a request within the time of a test.
func communicators(t testing.TB, size int, base mcast.Config) (comms []*runtime.Comm) {
	for _, tr := range joinAll(t, size, base) {
		c, err := runtime.Join(t.Context(), runtime.Config{
			Transport: tr, Algorithms: runtime.Algorithms{"bcast": {Name: "bcast/mcast-acktree"}}, Chunk: 1000, Repair: time.Hour,
		})
		require.NoError(t, err)
		comms = append(comms, c)
	}
	t.Cleanup(func() { closeAll(t, comms) })
	return comms
}

func closeAll(t testing.TB, comms []*runtime.Comm) {
	each(t, comms, func(_ context.Context, c *runtime.Comm) error { return c.Close() })
}

// each makes every rank do something at the same time.
func each(t testing.TB, comms []*runtime.Comm, do func(context.Context, *runtime.Comm) error) {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	errs := make([]error, len(comms))
	var wg sync.WaitGroup
	for i, c := range comms {
		wg.Go(func() { errs[i] = do(ctx, c) })
	}
	wg.Wait()
	for _, err := range errs {
		require.NoError(t, err)
	}
}

// derive makes a communicator from each of comms, and makes all of them do something.
func derive(t testing.TB, comms []*runtime.Comm, color func(rank int) int) []*runtime.Comm {
	t.Helper()
	children := make([]*runtime.Comm, len(comms))
	each(t, comms, func(ctx context.Context, c *runtime.Comm) (err error) {
		if children[c.Rank()], err = c.Split(ctx, color(c.Rank()), 0); err != nil {
			return err
		}
		return children[c.Rank()].Bcast(ctx, make([]byte, 5000), 0)
	})
	return children
}

func parity(rank int) int { return rank % 2 }
func together(int) int    { return 0 }

// The first multicast of a communicator reaches all its members: in 100 rounds none of the five
// chunks is missing.
func TestFirstMulticast(t *testing.T) {
	for name, cfg := range map[string]mcast.Config{"plain": {Family: 4}, "sealed": sealed(true)} {
		t.Run(name, func(t *testing.T) {
			comms := communicators(t, 6, cfg)
			chunks := uint64(0)
			for range 100 {
				children := derive(t, comms, parity)
				for _, c := range children {
					require.NotEmpty(t, c.State().Group, c.State().Shared)
					require.Zero(t, c.Totals().PutChunks)
					chunks += c.Totals().McastChunks
				}
				closeAll(t, children)
			}
			require.Equal(t, uint64(100*4*5), chunks, "of 100 broadcasts of five chunks to two ranks in each half")
			for _, c := range comms {
				n := c.Totals()
				require.Equal(t, uint64(100), n.Transport.Groups)
				require.Zero(t, n.Transport.GroupsRefused+n.Transport.Replayed+n.Transport.Unauthenticated)
			}
		})
	}
}

// If a rank can join no further group, the members share the group of all ranks, and report that.
// Everything works.
func TestFewGroups(t *testing.T) {
	for name, test := range map[string]struct{ limit, apart int }{"three": {3, 3}, "none": {-1, 0}} {
		t.Run(name, func(t *testing.T) {
			comms := communicators(t, 3, mcast.Config{Family: 4, Groups: test.limit})
			var open [][]*runtime.Comm
			for i := range 6 {
				open = append(open, derive(t, comms, together))
				for _, c := range open[i] {
					if i < test.apart {
						require.NotEmpty(t, c.State().Group)
						require.Empty(t, c.State().Shared)
					} else {
						require.Empty(t, c.State().Group)
						require.NotEmpty(t, c.State().Shared)
					}
				}
				if i >= test.apart {
					require.Equal(t, "mcast: rank 0: as many groups as mcast.Config.Groups allows are joined already", open[i][0].State().Shared)
				}
			}
			closeAll(t, open[0])
			for _, c := range derive(t, comms, together) {
				require.Equal(t, test.apart > 0, c.State().Group != "", "a group has been left")
				require.NoError(t, c.Err())
				t.Cleanup(func() { require.NoError(t, c.Close()) })
			}
			for _, children := range open[1:] {
				each(t, children, func(ctx context.Context, c *runtime.Comm) error { return c.Bcast(ctx, make([]byte, 5000), 1) })
				closeAll(t, children)
			}
		})
	}
}

// If one member has no group, all members share the group of all ranks.
func TestOneWithoutAGroup(t *testing.T) {
	trs, errs := tryJoin(t, 4, mcast.Config{Family: 4}, func(rank int, c *mcast.Config) {
		if rank == 2 {
			c.Groups = -1
		}
	})
	var comms []*runtime.Comm
	for rank, tr := range trs {
		require.NoError(t, errs[rank])
		c, err := runtime.Join(t.Context(), runtime.Config{Transport: tr, Algorithms: runtime.Algorithms{"bcast": {Name: "bcast/mcast-acktree"}}, Repair: time.Hour})
		require.NoError(t, err)
		comms = append(comms, c)
	}
	defer closeAll(t, comms)
	halves := derive(t, comms, parity)
	defer closeAll(t, halves)
	for rank, c := range halves {
		s := c.State()
		if rank%2 == 1 {
			require.NotEmpty(t, s.Group)
			continue
		}
		require.Empty(t, s.Group)
	}
	require.Equal(t, "rank 2 of those that split can join no further multicast group", halves[0].State().Shared)
	require.Contains(t, halves[2].State().Shared, "mcast: rank 2: as many groups as mcast.Config.Groups allows are joined already")
	require.Equal(t, uint64(1), halves[2].Totals().Transport.GroupsRefused)
}
