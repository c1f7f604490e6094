package transporttest

import (
	"bytes"
	"context"
	"fmt"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/schedgen/schedgen/runtime"
)

// overlays are the rootless algorithms. Without multicast, the messages of the last go by puts.
var overlays = []string{"anycast/skip-ring", "anycast/circulant", spreads}

// spreads is the rootless algorithm that multicasts.
const spreads = "anycast/mcast-acktree"

// rootlessBy returns a configuration with a rootless algorithm.
func rootlessBy(name string) runtime.Config {
	return runtime.Config{Algorithms: runtime.Algorithms{"anycast": {Name: name}}}
}

// putOrMulticast returns a test that runs twice: with rootless messages that are put along an
// overlay, and with multicast ones.
func putOrMulticast(run func(t *testing.T, with network, cfg runtime.Config)) func(t *testing.T, with network) {
	return func(t *testing.T, with network) {
		for _, name := range []string{"anycast/skip-ring", spreads} {
			t.Run(name, func(t *testing.T) { run(t, with, rootlessBy(name)) })
		}
	}
}

// testFlush: if all ranks flush before they take, they find all messages without waiting.
func testFlush(t *testing.T, with network) {
	for _, name := range overlays {
		for _, ranks := range []int{1, 2, 3, 5, 8, 9} {
			with.run(t, fmt.Sprintf("%s/ranks=%d", name, ranks), func(t *testing.T) {
				const messages = 4
				comms := join(t, with, ranks, runtime.Config{Algorithms: runtime.Algorithms{"anycast": {Name: name}}, PublishWindow: messages})
				all(t, comms, func(ctx context.Context, c *runtime.Comm) error {
					for range 3 {
						if err := flushAndTake(ctx, c, messages); err != nil {
							return err
						}
					}
					return nil
				})
			})
		}
	}
}

// flushAndTake publishes some messages, flushes, and takes the others' messages once all have
// flushed.
func flushAndTake(ctx context.Context, c *runtime.Comm, messages int) error {
	for i := range messages {
		if err := c.Publish(ctx, letter(c.Rank(), uint64(i))); err != nil {
			return err
		}
	}
	if err := c.Flush(ctx); err != nil {
		return err
	}
	if err := c.Barrier(ctx); err != nil {
		return err
	}
	for got := range messages * (c.Size() - 1) {
		_, ok, err := c.TryNext()
		if err != nil {
			return err
		}
		if !ok {
			return fmt.Errorf("rank %d finds %d messages of %d after all have flushed", c.Rank(), got, messages*(c.Size()-1))
		}
	}
	return nil
}

// testSlowReader: a process that takes nothing makes each publisher wait once its window is full.
// It delays neither the others' messages, nor operations, nor Flush.
func testSlowReader(t *testing.T, with network, cfg runtime.Config) {
	const window = 5
	for _, ranks := range []int{3, 6} {
		with.run(t, fmt.Sprint("ranks=", ranks), func(t *testing.T) {
			cfg := cfg
			cfg.PublishWindow = window
			comms := join(t, with, ranks, cfg)
			slow := ranks - 1
			blocked, cancel := context.WithCancel(t.Context())
			defer cancel()
			for i := range uint64(window) {
				require.NoError(t, comms[0].Publish(t.Context(), letter(0, i)))
			}
			full := result()
			go func() { full <- comms[0].Publish(blocked, letter(0, window)) }()
			all(t, comms, func(ctx context.Context, c *runtime.Comm) error {
				switch c.Rank() {
				case 0:
					if err := c.Flush(ctx); err != nil {
						return err
					}
				case 1:
					if err := publish(ctx, c, window); err != nil {
						return err
					}
					if err := c.Flush(ctx); err != nil { // or rank 0's last message could be there first
						return err
					}
				}
				if n := expected(c.Rank(), window); c.Rank() != slow {
					if err := receive(ctx, c, n); err != nil {
						return err
					}
				}
				return bcast(ctx, c, 1, buffer(5000), 0)
			})
			require.Empty(t, full, "the window is full")
			require.NoError(t, receive(t.Context(), comms[slow], 2*window))
			require.NoError(t, <-full)
			for _, c := range comms[1:] {
				m, err := c.Next(t.Context())
				require.NoError(t, err)
				require.Equal(t, runtime.Message{Origin: 0, Seq: window, Data: letter(0, window)}, m)
			}
		})
	}
}

// expected returns the number of messages that a rank gets if ranks 0 and 1 publish each some.
func expected(rank, each int) int {
	if rank < 2 {
		return each
	}
	return 2 * each
}

// testFlushDeath: a flush that waits for a rank that dies fails at all ranks, with its name in the
// error.
func testFlushDeath(t *testing.T, with network, cfg runtime.Config) {
	for _, ranks := range []int{2, 3, 5, 8} {
		for dead := range ranks {
			with.run(t, fmt.Sprintf("ranks=%d,dead=%d", ranks, dead), func(t *testing.T) {
				comms := join(t, mortals(with, dead), ranks, cfg)
				all(t, comms, func(ctx context.Context, c *runtime.Comm) error { return c.Barrier(ctx) })
				errs := each(t, comms, func(ctx context.Context, c *runtime.Comm) error {
					if c.Rank() == dead {
						return c.Close()
					}
					return untilFailed(ctx, c, func(ctx context.Context, c *runtime.Comm) error {
						if err := c.Publish(ctx, []byte("who is there?")); err != nil {
							return err
						}
						if err := c.Flush(ctx); err != nil {
							return err
						}
						_, _, err := c.TryNext()
						return err
					})
				})
				for rank, err := range errs {
					if rank != dead {
						requireNames(t, err, runtime.ErrPeerLost, dead)
					}
				}
			})
		}
	}
}

// testLeftAmongMulticasts: no multicast needs a rank that has left, wherever it stood in the trees
// of acknowledgements. All ranks get a message that a rank publishes before it leaves.
func testLeftAmongMulticasts(t *testing.T, with network) {
	stay := slices.Clone(join(t, with, 9, rootlessBy(spreads)))
	for round, leaves := range []int{4, 6, 0, 5} { // first inner ranks of rank 0's tree
		at := slices.IndexFunc(stay, func(c *runtime.Comm) bool { return c.Rank() == leaves })
		require.NoError(t, stay[at].Publish(t.Context(), letter(leaves, uint64(round))))
		require.NoError(t, stay[at].Close())
		stay = slices.Delete(stay, at, at+1)
		all(t, stay, func(ctx context.Context, c *runtime.Comm) error {
			if err := c.Publish(ctx, letter(c.Rank(), uint64(round))); err != nil {
				return err
			}
			for range stay { // as many others, with the one that has left
				m, err := c.Next(ctx)
				if err != nil {
					return err
				}
				if m.Seq != uint64(round) || !bytes.Equal(m.Data, letter(m.Origin, m.Seq)) {
					return fmt.Errorf("rank %d: round %d brings message %d of rank %d", c.Rank(), round, m.Seq, m.Origin)
				}
			}
			return c.Flush(ctx)
		})
	}
}

// testRelayLeft: if a rank that passes messages on has left, the rank above it takes its place.
func testRelayLeft(t *testing.T, with network) {
	const ranks, relay, behind = 5, 2, 3 // in the skip ring, for messages of rank 0
	comms := join(t, with, ranks, runtime.Config{Algorithms: runtime.Algorithms{"anycast": {Name: "anycast/skip-ring"}}})
	stay := []*runtime.Comm{comms[0], comms[1], comms[behind], comms[4]}
	publish := func(among []*runtime.Comm, text string) {
		all(t, among, func(ctx context.Context, c *runtime.Comm) error {
			if c.Rank() == 0 {
				return c.Publish(ctx, []byte(text))
			}
			m, err := c.Next(ctx)
			if err == nil && string(m.Data) != text {
				err = fmt.Errorf("got %q", m.Data)
			}
			return err
		})
	}
	publish(comms, "first")
	require.NoError(t, comms[relay].Close())
	all(t, stay, func(ctx context.Context, c *runtime.Comm) error { return c.Flush(ctx) })
	publish(stay, "second")
	all(t, stay, func(ctx context.Context, c *runtime.Comm) error { return c.Flush(ctx) })
}
