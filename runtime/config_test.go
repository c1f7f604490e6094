package runtime_test

import (
	"context"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/schedgen/schedgen/runtime"
	"github.com/schedgen/schedgen/runtime/mem"
	"github.com/schedgen/schedgen/runtime/wire"
)

// Of several fields that are out of range the first is named.
func TestConfigIsChecked(t *testing.T) {
	cfg := runtime.Config{RootDelay: -1, Chunk: -2, Repair: -3, CastWindow: -4, CastBytes: -5, MaxMessage: -6, Delay: 99}
	for _, step := range []struct {
		want string
		mend func()
	}{
		{"Config.RootDelay is negative: -1", func() { cfg.RootDelay = 0 }},
		{"Config.Chunk is negative: -2", func() { cfg.Chunk = 0 }},
		{"Config.Repair is negative: -3", func() { cfg.Repair = 0 }},
		{"Config.CastWindow is negative: -4", func() { cfg.CastWindow = 0 }},
		{"Config.CastBytes is negative: -5", func() { cfg.CastBytes = 0 }},
		{"Config.MaxMessage is negative: -6", func() { cfg.MaxMessage = wire.MaxBody + 1 }},
		{"Config.MaxMessage is 2147483648, at most 2147483647", func() { cfg.MaxMessage = 0 }},
		{"Config.Delay: DelayPolicy(99)", func() { cfg.Delay = runtime.DelayNone }},
	} {
		net, err := mem.New(1, mem.Options{})
		require.NoError(t, err)
		cfg.Transport = net[0]
		_, err = runtime.Join(t.Context(), cfg)
		require.ErrorIs(t, err, runtime.ErrInput)
		require.ErrorContains(t, err, step.want)
		step.mend()
	}
	net, err := mem.New(1, mem.Options{})
	require.NoError(t, err)
	cfg.Transport = net[0]
	c, err := runtime.Join(t.Context(), cfg)
	require.NoError(t, err)
	require.NoError(t, c.Close())
}

// A communicator that has none of what it can do without still works.
func TestConfigOfNone(t *testing.T) {
	for _, name := range []string{"bcast/mcast-chain", "bcast/mcast-acktree"} {
		comms := group(t, 5, mem.Options{Seed: 1, Loss: 0.2}, runtime.Config{
			Bcast: runtime.Algorithm{Name: name}, MaxBcast: -1, Stall: -1, Retain: -1, Waiting: runtime.Waiting{Spin: -1, Idle: -1, Linger: -1},
		})
		require.NoError(t, each(comms, func(c *runtime.Comm) error {
			for root := range c.Size() {
				if err := checkBytes(context.Background(), c, uint64(root), 3000*root, root, nil); err != nil {
					return err
				}
			}
			return c.Barrier(context.Background())
		}))
		require.NoError(t, each(comms, (*runtime.Comm).Close))
	}
}
