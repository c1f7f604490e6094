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
)

// These tests run in virtual time: waits take exactly their stated time, and no real time. Package
// sim tests the reaction to faults.

const base = 20 * time.Millisecond

// virtual joins ranks in a bubble, and closes them at the end.
func virtual(t *testing.T, size int, o mem.Options, cfg runtime.Config, f func(comms []*runtime.Comm)) {
	synctest.Test(t, func(t *testing.T) {
		cfg.Repair = base
		comms := group(t, size, o, cfg)
		defer func() {
			for _, c := range comms {
				require.NoError(t, c.Close())
			}
		}()
		f(comms)
	})
}

// returns broadcasts from rank 0 at all ranks, each of which enters after its delay. It returns
// when each rank returned.
func returns(t *testing.T, comms []*runtime.Comm, enter map[int]time.Duration) []time.Duration {
	start := time.Now()
	out := make([]time.Duration, len(comms))
	require.NoError(t, each(comms, func(c *runtime.Comm) error {
		time.Sleep(enter[c.Rank()]) // virtual: the process comes late
		buf := make([]byte, 5)
		if c.Rank() == 0 {
			copy(buf, "hello")
		}
		if err := c.Bcast(context.Background(), buf, 0); err != nil {
			return err
		}
		out[c.Rank()] = time.Since(start)
		require.Equal(t, "hello", string(buf))
		copy(buf, "xxxxx") // the buffer is the caller's again
		return nil
	}))
	return out
}

var ackTree = runtime.Config{Algorithms: runtime.Algorithms{"bcast": {Name: "bcast/mcast-acktree"}}}

// If every multicast is lost, ranks ask after a timeout, and the message reaches all at once.
// TestRepairTimeoutsGrowWithTheLevel of package sim shows the schedule's repairs alone.
func TestLostMulticastIsAskedFor(t *testing.T) {
	virtual(t, 8, mem.Options{Loss: 1}, ackTree, func(comms []*runtime.Comm) {
		for rank, took := range returns(t, comms, nil) {
			require.Less(t, took, 3*base/2, "rank %d", rank)
		}
	})
}

// The parent of a late leaf repairs it, and stays in the call for it. Ranks outside the leaf's path
// return at once, the root last.
func TestLateRankHoldsOnlyItsAncestors(t *testing.T) {
	late := map[int]time.Duration{7: time.Second}
	virtual(t, 8, mem.Options{}, ackTree, func(comms []*runtime.Comm) {
		got := returns(t, comms, late)
		for rank, want := range []time.Duration{time.Second, 0, 0, 0, time.Second, 0, time.Second, time.Second} {
			require.Equal(t, want, got[rank], "rank %d", rank)
		}
	})
}

// The two stages run at once: a rank without the multicast gets its predecessor's copy without a
// timeout, and waits for no rank behind it.
func TestTwoStagesNeedNoTimeout(t *testing.T) {
	cfg := runtime.Config{Algorithms: runtime.Algorithms{"bcast": {Name: "bcast/mcast-chain"}}}
	late := map[int]time.Duration{3: time.Second}
	virtual(t, 6, mem.Options{Loss: 0.5, Seed: 3}, cfg, func(comms []*runtime.Comm) {
		for range 20 {
			got := returns(t, comms, nil)
			require.Equal(t, make([]time.Duration, 6), got)
		}
		got := returns(t, comms, late)
		require.Zero(t, got[0])
		require.Equal(t, time.Second, got[3])
		require.Zero(t, got[5], "a late rank delays at most one other, its successor")
	})
}

func TestRootDelays(t *testing.T) {
	chain := runtime.Algorithm{Name: "bcast/mcast-chain"}
	t.Run("fixed", func(t *testing.T) {
		cfg := runtime.Config{Algorithms: runtime.Algorithms{"bcast": chain}, Delay: runtime.DelayFixed, RootDelay: 3 * time.Millisecond}
		virtual(t, 4, mem.Options{}, cfg, func(comms []*runtime.Comm) {
			for _, d := range returns(t, comms, nil) {
				require.Equal(t, 3*time.Millisecond, d)
			}
		})
	})
	t.Run("random-peer", func(t *testing.T) {
		cfg := runtime.Config{Algorithms: runtime.Algorithms{"bcast": chain}, Delay: runtime.DelayRandomPeer}
		waited := 0
		virtual(t, 4, mem.Options{Seed: 9}, cfg, func(comms []*runtime.Comm) {
			for range 60 {
				got := returns(t, comms, map[int]time.Duration{2: time.Millisecond})
				if got[0] > 0 {
					waited++
					require.Equal(t, time.Millisecond, got[0], "the root waited for the drawn peer")
				}
			}
		})
		require.InDelta(t, 20, waited, 12, "one of three peers is late, and each is drawn about as often")
	})
}

// Ranks that wait for each other find out by asking, after Config.Stall.
func TestStallAsksTheNeighbour(t *testing.T) {
	virtual(t, 3, mem.Options{}, runtime.Config{Stall: time.Second}, func(comms []*runtime.Comm) {
		start := time.Now()
		err := each(comms, func(c *runtime.Comm) error {
			return c.Bcast(context.Background(), make([]byte, 10), (c.Rank()+1)%3%2+c.Rank()/2)
		})
		require.ErrorContains(t, err, runtime.ErrMismatch.Error())
		require.LessOrEqual(t, time.Since(start), time.Second)
	})
}

// All ranks name a missing rank, whichever rank their schedule waits for. No rank names one that
// came late and has arrived.
func TestMissedDeadlineNamesWhoIsLate(t *testing.T) {
	for ranks := 2; ranks <= 8; ranks++ {
		for _, name := range []string{"barrier/dissemination", "barrier/hsb", "barrier/exchange"} {
			late := ranks / 2
			t.Run(fmt.Sprintf("%s/ranks=%d", name, ranks), func(t *testing.T) {
				virtual(t, ranks, mem.Options{}, runtime.Config{Algorithms: runtime.Algorithms{"barrier": {Name: name}}}, func(comms []*runtime.Comm) {
					errs := make([]error, ranks)
					require.NoError(t, each(comms, func(c *runtime.Comm) error {
						rank := c.Rank()
						ctx, cancel := context.WithTimeout(context.Background(), 3*time.Second)
						defer cancel()
						if rank == 0 {
							time.Sleep(time.Second) // it answers that it is late, and then enters
						} else if rank == late {
							time.Sleep(4 * time.Second)
						}
						errs[rank] = c.Barrier(ctx)
						return nil
					}))
					for rank, err := range errs {
						var about *runtime.RankError
						require.ErrorIs(t, err, context.DeadlineExceeded, "rank %d", rank)
						require.ErrorAs(t, err, &about, "rank %d", rank)
						require.Equal(t, late, about.Rank, "rank %d: %v", rank, err)
						require.ErrorContains(t, err, "it has not entered the operation")
					}
				})
			})
		}
	}
}

// A wait for a request that takes too long names the rank that is late. The operation goes on.
func TestMissedWaitNamesWhoIsLate(t *testing.T) {
	virtual(t, 3, mem.Options{}, runtime.Config{}, func(comms []*runtime.Comm) {
		require.NoError(t, each(comms, func(c *runtime.Comm) error {
			if c.Rank() == 1 {
				time.Sleep(3 * time.Second)
				return c.Barrier(context.Background())
			}
			req, err := c.StartBarrier(context.Background())
			if err != nil {
				return err
			}
			for range 3 {
				ctx, cancel := context.WithTimeout(context.Background(), 500*time.Millisecond)
				err := req.Wait(ctx)
				cancel()
				var about *runtime.RankError
				if !errors.As(err, &about) || about.Rank != 1 || !errors.Is(err, context.DeadlineExceeded) {
					return fmt.Errorf("rank %d: no deadline that names rank 1: %w", c.Rank(), err)
				}
			}
			return req.Wait(context.Background())
		}))
	})
}
