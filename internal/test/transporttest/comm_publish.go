package transporttest

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/schedgen/schedgen/runtime"
)

// testAnycast makes all ranks publish at the same time.
func testAnycast(t *testing.T, with network) {
	for _, name := range overlays {
		if !with.has(name) {
			continue
		}
		for _, ranks := range with.anycast {
			for _, window := range first(with.variants, 3, 1, 64) {
				with.run(t, fmt.Sprintf("%s/ranks=%d,window=%d", name, ranks, window), func(t *testing.T) {
					comms := join(t, with, ranks, runtime.Config{
						Algorithms: runtime.Algorithms{"anycast": {Name: name}}, PublishWindow: window, PublishBytes: 4000, MaxMessage: 9000,
						Repair: 2 * time.Millisecond, // a window of one message reveals a loss only by timeouts
					})
					all(t, comms, func(ctx context.Context, c *runtime.Comm) error { return publishAll(ctx, c, 60) })
				})
			}
		}
	}
}

// publishAll publishes and receives until every message of every other rank has arrived once,
// complete and in its origin's order.
func publishAll(ctx context.Context, c *runtime.Comm, messages int) error {
	err := together(ctx,
		func(ctx context.Context) error { return publish(ctx, c, messages) },
		func(ctx context.Context) error { return receive(ctx, c, messages*(c.Size()-1)) })
	if err != nil {
		return err
	}
	return c.Barrier(ctx)
}

func receive(ctx context.Context, c *runtime.Comm, messages int) error {
	next := make([]uint64, c.Size())
	for range messages {
		m, err := c.Next(ctx)
		if err != nil {
			return err
		}
		if m.Seq != next[m.Origin] || !bytes.Equal(m.Data, letter(m.Origin, m.Seq)) {
			return fmt.Errorf("rank %d: message %d of rank %d came with wrong number or bytes, want number %d", c.Rank(), m.Seq, m.Origin, next[m.Origin])
		}
		next[m.Origin]++
	}
	return nil
}

func letter(origin int, seq uint64) []byte {
	i := uint64(origin)<<32 | seq
	return content(i, int(i*2654435761%9000))
}

// testMixed runs collective operations beside rootless messages.
func testMixed(t *testing.T, with network) {
	comms := join(t, with, 6, runtime.Config{PublishWindow: 4, Chunk: 2000})
	all(t, comms, func(ctx context.Context, c *runtime.Comm) error {
		err := together(ctx,
			func(ctx context.Context) error { return publish(ctx, c, 40) },
			func(ctx context.Context) error { return receive(ctx, c, 40*(c.Size()-1)) },
			func(ctx context.Context) error { return bcastsAndBarriers(ctx, c, 40) })
		if err != nil {
			return err
		}
		return c.Barrier(ctx)
	})
}

func publish(ctx context.Context, c *runtime.Comm, messages int) error {
	for i := range messages {
		if err := c.Publish(ctx, letter(c.Rank(), uint64(i))); err != nil {
			return err
		}
	}
	return nil
}

func bcastsAndBarriers(ctx context.Context, c *runtime.Comm, rounds int) error {
	buf := make([]byte, 10000)
	for i := range rounds {
		if err := bcast(ctx, c, uint64(i), buf, i%c.Size()); err != nil {
			return err
		}
		if err := c.Barrier(ctx); err != nil {
			return err
		}
	}
	return nil
}

// testWindow: a rank that takes no messages stops a publisher, but not the communicator, and memory
// stays bounded.
func testWindow(t *testing.T, with network, cfg runtime.Config) {
	with.bubble(t, func(t *testing.T) { testFullWindow(t, with, cfg) })
}

func testFullWindow(t *testing.T, with network, cfg runtime.Config) {
	cfg.PublishWindow = 5
	comms := join(t, with, 3, cfg)
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	sent := 0
	for ; sent < 5; sent++ {
		require.NoError(t, comms[0].Publish(ctx, []byte("x")))
	}
	blocked := result()
	go func() { blocked <- comms[0].Publish(ctx, []byte("x")) }()
	all(t, comms, func(ctx context.Context, c *runtime.Comm) error { return c.Barrier(ctx) })
	cancel()
	err := <-blocked
	require.ErrorIs(t, err, context.Canceled)
	var op *runtime.OpError
	require.ErrorAs(t, err, &op)
	require.Equal(t, "publish", op.Op)
	require.NoError(t, comms[0].Err(), "a publish that was given up harms nobody")
	for range sent {
		for _, c := range comms[1:] {
			_, err := c.Next(t.Context())
			require.NoError(t, err)
		}
	}
	_, ok, err := comms[1].TryNext()
	require.NoError(t, err)
	require.False(t, ok, "the message given up was not sent")
	err = comms[0].Publish(t.Context(), buffer(2<<20))
	require.True(t, errors.Is(err, runtime.ErrTooLarge), "%v", err)
}

func buffer(n int) []byte   { return make([]byte, n) }
func result() chan error    { return make(chan error, 1) }
func signal() chan struct{} { return make(chan struct{}) }

// together runs functions at the same time. The first error ends the context of the others and is
// returned.
func together(ctx context.Context, fs ...func(ctx context.Context) error) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	errs := make(chan error, len(fs))
	for _, f := range fs {
		go func() { errs <- f(ctx) }()
	}
	var first error
	for range fs {
		if err := <-errs; err != nil && first == nil {
			first = err
			cancel(err)
		}
	}
	return first
}

// testLeftEarly: a rank that waits for messages gets an error when the others have left, whether
// they left before or after it began to wait. It first gets the messages that they have published.
func testLeftEarly(t *testing.T, with network, cfg runtime.Config) {
	for _, ranks := range []int{2, 3, 6, 19} {
		for _, early := range []bool{false, true} {
			with.run(t, fmt.Sprintf("ranks=%d,early=%t", ranks, early), func(t *testing.T) {
				comms := join(t, with, ranks, cfg)
				last := comms[ranks-1]
				require.NoError(t, comms[0].Publish(t.Context(), []byte("last words")))
				for _, c := range comms[1 : ranks-1] {
					_, err := c.Next(t.Context()) // so the message is passed on
					require.NoError(t, err)
				}
				errs := result()
				wait := func() {
					_, err := last.Next(t.Context())
					require.NoError(t, err)
					_, err = last.Next(t.Context())
					errs <- err
				}
				if early {
					closeAll(t, comms[:ranks-1])
					wait()
				} else {
					go wait()
					closeAll(t, comms[:ranks-1])
				}
				require.ErrorIs(t, <-errs, runtime.ErrPeerLeft)
				_, some, err := last.TryNext()
				require.NoError(t, err, "the communicator has not failed")
				require.False(t, some)
			})
		}
	}
}

// testBereft: all ranks that only wait for messages learn that one of them has died, although no
// rank has sent it anything.
func testBereft(t *testing.T, with network, cfg runtime.Config) {
	for ranks, dead := range map[int]int{2: 1, 3: 0, 6: 5} {
		with.run(t, fmt.Sprintf("ranks=%d,dead=%d", ranks, dead), func(t *testing.T) {
			comms := join(t, mortals(with, dead), ranks, cfg)
			dying := result()
			errs := each(t, comms, func(ctx context.Context, c *runtime.Comm) error {
				if c.Rank() == dead {
					dying <- c.Close()
					return nil
				}
				_, err := c.Next(ctx)
				return err
			})
			require.NoError(t, <-dying)
			for rank, err := range errs {
				if rank != dead {
					requireNames(t, err, runtime.ErrPeerLost, dead)
				}
			}
		})
	}
}
