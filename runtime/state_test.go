package runtime_test

import (
	"context"
	"encoding/json"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/schedgen/schedgen/internal/core"
	"github.com/schedgen/schedgen/runtime"
	"github.com/schedgen/schedgen/runtime/mem"
	"github.com/schedgen/schedgen/schedule"
)

// stuck has all ranks except one call a barrier, and looks at their states after a second.
func stuck(t *testing.T, size, late int, cfg runtime.Config, look func(states []runtime.State)) {
	virtual(t, size, mem.Options{}, cfg, func(comms []*runtime.Comm) {
		require.NoError(t, each(comms, func(c *runtime.Comm) error { return c.Barrier(context.Background()) }))
		done := make(chan error)
		go func() {
			done <- each(comms, func(c *runtime.Comm) error {
				if c.Rank() == late {
					time.Sleep(3 * time.Second)
				}
				return c.Barrier(context.Background())
			})
		}()
		time.Sleep(time.Second)
		synctest.Wait()
		var states []runtime.State
		for _, c := range comms {
			states = append(states, c.State())
		}
		look(states)
		require.NoError(t, <-done)
	})
}

// All ranks except the late one are inside, wait for a rank by the schedule, and know which rank is
// late.
func TestStateOfAStuckBarrier(t *testing.T) {
	const size, late = 5, 3
	for _, name := range []string{"barrier/hsb", "barrier/dissemination", "barrier/exchange"} {
		stuck(t, size, late, runtime.Config{Algorithms: runtime.Algorithms{"barrier": {Name: name}}}, func(states []runtime.State) {
			for rank, s := range states {
				require.Equal(t, []int{rank, rank, size}, []int{s.Rank, s.Process, s.Size})
				require.Equal(t, "mem", s.Transport)
				require.EqualValues(t, 1, s.Ended)
				require.EqualValues(t, 1, s.Totals.Operations)
				if rank == late {
					require.Zero(t, s.Callers)
					require.Empty(t, s.Open)
					require.EqualValues(t, 1, s.Begun)
					continue
				}
				require.Equal(t, 1, s.Callers)
				require.Len(t, s.Open, 1)
				o := s.Open[0]
				require.Equal(t, name, o.Name)
				require.EqualValues(t, 2, o.Seq)
				require.Equal(t, core.Time(time.Second), o.Age)
				require.Equal(t, []int{late}, o.Absent)
				require.NotEmpty(t, o.Missing.Runs)
				require.NotEmpty(t, o.WaitsFor)
				require.NotContains(t, o.WaitsFor, rank)
			}
		})
	}
}

// A state survives JSON.
func TestStateAsJSON(t *testing.T) {
	stuck(t, 4, 0, runtime.Config{}, func(states []runtime.State) {
		for _, s := range states {
			text, err := json.Marshal(s)
			require.NoError(t, err)
			var again runtime.State
			require.NoError(t, json.Unmarshal(text, &again))
			twice, err := json.Marshal(again)
			require.NoError(t, err)
			require.JSONEq(t, string(text), string(twice))
		}
	})
}

// The state of a root whose puts are not taken names their destinations.
func TestStateOfARootThatCannotSend(t *testing.T) {
	cfg := runtime.Config{Algorithms: runtime.Algorithms{"bcast": {Name: "bcast/linear", Params: schedule.Params{Chunks: 1024}}}}
	virtual(t, 3, mem.Options{Queue: 1}, cfg, func(comms []*runtime.Comm) {
		done := make(chan error)
		go func() {
			done <- each(comms, func(c *runtime.Comm) error {
				if c.Rank() == 2 {
					time.Sleep(2 * time.Second)
				}
				return c.Bcast(context.Background(), make([]byte, 1<<20), 0)
			})
		}()
		time.Sleep(time.Second)
		synctest.Wait()
		s := comms[0].State()
		require.Len(t, s.Open, 1)
		require.Zero(t, s.Open[0].Missing.Chunks)
		require.NotZero(t, s.Open[0].Unsent)
		require.Equal(t, []int{1, 2}, s.Open[0].SendsTo)
		require.NoError(t, <-done)
	})
}

// Queued requests are counted, and open ones are listed in order.
func TestStateOfManyRequests(t *testing.T) {
	virtual(t, 2, mem.Options{}, runtime.Config{}, func(comms []*runtime.Comm) {
		var reqs []*runtime.Request
		for range 7 {
			r, err := comms[0].StartBarrier(context.Background())
			require.NoError(t, err)
			reqs = append(reqs, r)
		}
		s := comms[0].State()
		require.Len(t, s.Open, core.MaxOpen)
		require.Equal(t, 7-core.MaxOpen, s.Queued)
		for i, o := range s.Open {
			require.EqualValues(t, i+1, o.Seq)
			require.Equal(t, []int{1}, o.WaitsFor)
		}
		for range reqs {
			require.NoError(t, comms[1].Barrier(context.Background()))
		}
		require.NoError(t, reqs[6].Wait(context.Background()))
	})
}

// Communicators that share a transport are listed together until they are closed.
func TestStatesOfSeveral(t *testing.T) {
	comms := group(t, 4, mem.Options{}, runtime.Config{})
	halves := make([]*runtime.Comm, 4)
	require.NoError(t, each(comms, func(c *runtime.Comm) (err error) {
		halves[c.Rank()], err = c.Split(t.Context(), c.Rank()%2, 0)
		return err
	}))
	all := comms[3].States()
	require.Len(t, all, 2)
	require.Equal(t, []int{3, 4, 3}, []int{all[0].Rank, all[0].Size, all[0].Process})
	require.Equal(t, []int{1, 2, 3}, []int{all[1].Rank, all[1].Size, all[1].Process})
	require.Equal(t, []int{0, 1}, []int{all[0].First, all[1].First})
	require.NotZero(t, all[1].Comm)
	for i := range comms {
		require.NoError(t, halves[i].Close())
		require.NoError(t, comms[i].Close())
	}
	all = comms[3].States()
	require.Len(t, all, 1)
	require.Equal(t, runtime.ErrClosed.Error(), all[0].Failure)
}

// State may be called while others work, and by several goroutines at once.
func TestStateBesideCalls(t *testing.T) {
	comms := group(t, 3, mem.Options{}, runtime.Config{})
	over := make(chan struct{})
	asked := make(chan struct{})
	go func() {
		defer close(asked)
		for {
			select {
			case <-over:
				return
			default:
				_ = comms[1].State()
			}
		}
	}()
	require.NoError(t, each(comms, func(c *runtime.Comm) error {
		for range 300 {
			if err := c.Barrier(t.Context()); err != nil {
				return err
			}
		}
		return nil
	}))
	close(over)
	<-asked
	for _, c := range comms {
		require.NoError(t, c.Close())
	}
}
