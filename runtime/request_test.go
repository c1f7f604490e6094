package runtime_test

import (
	"context"
	"errors"
	"fmt"
	goruntime "runtime"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/schedgen/schedgen/runtime"
	"github.com/schedgen/schedgen/runtime/mem"
)

// inFlight is how many broadcasts are started before the first wait.
const inFlight = 4

// overlapped broadcasts inFlight messages at once.
func overlapped(ctx context.Context, c *runtime.Comm, bufs [][]byte) error {
	var reqs [inFlight]*runtime.Request
	for i := range reqs {
		var err error
		if reqs[i], err = c.StartBcast(ctx, bufs[i], 0); err != nil {
			return err
		}
	}
	for _, req := range reqs {
		if err := req.Wait(ctx); err != nil {
			return err
		}
	}
	return nil
}

func buffers(n int) [][]byte {
	bufs := make([][]byte, inFlight)
	for i := range bufs {
		bufs[i] = make([]byte, n)
	}
	return bufs
}

// A warm communicator allocates the request, and nothing else for it.
func TestWarmRequestsAllocateThemselves(t *testing.T) {
	const rounds = 500
	comms := group(t, 4, mem.Options{Queue: 4096}, runtime.Config{Algorithms: runtime.Algorithms{"bcast": {Name: "bcast/mcast-acktree"}}})
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	run := func(rounds int) error {
		return each(comms, func(c *runtime.Comm) error {
			bufs := buffers(2048)
			for range rounds {
				if err := overlapped(ctx, c, bufs); err != nil {
					return err
				}
			}
			return nil
		})
	}
	require.NoError(t, run(200))
	var before, after goruntime.MemStats
	goruntime.ReadMemStats(&before)
	require.NoError(t, run(rounds))
	goruntime.ReadMemStats(&after)
	perRequest := float64(after.Mallocs-before.Mallocs) / (inFlight * rounds * 4)
	require.Less(t, perRequest, 1.05)
	for _, c := range comms {
		require.NoError(t, c.Close())
	}
}

// Thousands may be started, each under a context of its own.
func TestManyRequests(t *testing.T) {
	comms := group(t, 3, mem.Options{}, runtime.Config{})
	require.NoError(t, each(comms, func(c *runtime.Comm) error {
		var reqs []*runtime.Request
		for range 3000 {
			ctx, cancel := context.WithCancel(context.Background())
			defer cancel()
			req, err := c.StartBarrier(ctx)
			if err != nil {
				return err
			}
			reqs = append(reqs, req)
		}
		return reqs[len(reqs)-1].Wait(context.Background())
	}))
	for _, c := range comms {
		require.Equal(t, uint64(3000), c.Totals().Operations)
		require.NoError(t, c.Close())
	}
}

// While one goroutine is inside a call, a call in another goroutine is refused, since the order of
// the two would be undefined.
func TestStartBesideACallIsRefused(t *testing.T) {
	comms := group(t, 2, mem.Options{}, runtime.Config{})
	first, err := comms[0].StartBarrier(t.Context())
	require.NoError(t, err)
	ended := make(chan error)
	go func() {
		err := runtime.ErrBusy
		for errors.Is(err, runtime.ErrBusy) { // Use may be inside
			err = comms[0].Barrier(t.Context())
		}
		ended <- err
	}()
	for !errors.Is(comms[0].Use(nil), runtime.ErrBusy) { // until the other goroutine is inside
		goruntime.Gosched()
	}
	_, err = comms[0].StartBarrier(t.Context())
	require.ErrorIs(t, err, runtime.ErrBusy)
	require.ErrorIs(t, comms[0].Barrier(t.Context()), runtime.ErrBusy)
	require.NoError(t, comms[1].Barrier(t.Context()))
	require.NoError(t, first.Wait(t.Context()), "a request may be waited for beside a call")
	require.NoError(t, comms[1].Barrier(t.Context()))
	require.NoError(t, <-ended)
	for _, c := range comms {
		require.NoError(t, c.Close())
	}
}

// A request that cannot start is refused and leaves the communicator intact.
func TestStartIsChecked(t *testing.T) {
	comms := group(t, 2, mem.Options{}, runtime.Config{})
	for _, root := range []int{-1, 2} {
		_, err := comms[0].StartBcast(t.Context(), nil, root)
		require.ErrorIs(t, err, runtime.ErrInput)
	}
	require.NoError(t, each(comms, func(c *runtime.Comm) error { return c.Barrier(t.Context()) }))
	for _, c := range comms {
		require.NoError(t, c.Close())
	}
}

// Four broadcasts in flight against one after the other, over a path with and without delay.
func BenchmarkInFlight(b *testing.B) {
	cfg := runtime.Config{Algorithms: runtime.Algorithms{"bcast": {Name: "bcast/mcast-acktree"}}}
	together := func(c *runtime.Comm, buf []byte) error {
		return overlapped(context.Background(), c, [][]byte{buf[:2048], buf[2048:4096], buf[4096:6144], buf[6144:]})
	}
	inTurn := func(c *runtime.Comm, buf []byte) error {
		for i := range inFlight {
			if err := c.Bcast(context.Background(), buf[2048*i:2048*(i+1)], 0); err != nil {
				return err
			}
		}
		return nil
	}
	for _, delay := range []time.Duration{0, 200 * time.Microsecond} {
		net := mem.Options{Queue: 4096, Delay: delay}
		b.Run(fmt.Sprintf("delay=%v/together", delay), func(b *testing.B) { collectivesOn(b, net, 8, cfg, together, inFlight*2048) })
		b.Run(fmt.Sprintf("delay=%v/in turn", delay), func(b *testing.B) { collectivesOn(b, net, 8, cfg, inTurn, inFlight*2048) })
	}
}
