package runtime_test

import (
	"context"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/schedgen/schedgen/runtime"
	"github.com/schedgen/schedgen/runtime/mem"
	"github.com/schedgen/schedgen/runtime/wire"
	"github.com/schedgen/schedgen/schedule"
)

// Of several fields that are out of range the first is named.
func TestConfigIsChecked(t *testing.T) {
	cfg := runtime.Config{RootDelay: -1, Chunk: -2, Repair: -3, PublishWindow: -4, PublishBytes: -5, MaxMessage: -6, Delay: 99}
	for _, step := range []struct {
		want string
		mend func()
	}{
		{"Config.RootDelay is negative: -1", func() { cfg.RootDelay = 0 }},
		{"Config.Chunk is negative: -2", func() { cfg.Chunk = 0 }},
		{"Config.Repair is negative: -3", func() { cfg.Repair = 0 }},
		{"Config.PublishWindow is negative: -4", func() { cfg.PublishWindow = 0 }},
		{"Config.PublishBytes is negative: -5", func() { cfg.PublishBytes = 0 }},
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

func TestConfigOfAlgorithms(t *testing.T) {
	for want, algorithms := range map[string]runtime.Algorithms{
		`there is no collective "bacst" (its algorithm is "bcast/chain")`:        {"bacst": {Name: "bcast/chain"}, "barrier": {}},
		`"barrier/hsb" is no algorithm of bcast`:                                 {"bcast": {Name: "barrier/hsb"}},
		`"bcast/chain" is no algorithm of anycast`:                               {"anycast": {Name: "bcast/chain"}},
		`"linear" is no algorithm of gather`:                                     {"gather": {Name: "linear"}},
		`Config.Algorithms: alltoall: schedule: no algorithm "alltoall/fastest"`: {"alltoall": {Name: "alltoall/fastest"}},
		`Config.Algorithms: barrier: schedule: degree=1`:                         {"barrier": {Name: "barrier/dissemination", Params: schedule.Params{Degree: 1}}},
	} {
		net, err := mem.New(2, mem.Options{})
		require.NoError(t, err)
		_, err = runtime.Join(t.Context(), runtime.Config{Transport: net[0], Algorithms: algorithms})
		require.ErrorIs(t, err, runtime.ErrInput)
		require.ErrorContains(t, err, want)
	}
}

// TestConfigOfAlgorithmsIsCopied checks that changes of the map after Join have no effect, also on
// communicators of Split.
func TestConfigOfAlgorithmsIsCopied(t *testing.T) {
	cfg := runtime.Config{Algorithms: runtime.Algorithms{"bcast": {Name: "bcast/linear", Params: schedule.Params{Chunks: 3}}}}
	comms := group(t, 2, mem.Options{}, cfg)
	clear(cfg.Algorithms)
	require.NoError(t, each(comms, func(c *runtime.Comm) error {
		half, err := c.Split(t.Context(), 0, c.Rank())
		if err != nil {
			return err
		}
		for _, c := range []*runtime.Comm{c, half} {
			r, err := c.StartBcast(t.Context(), make([]byte, 100), 0)
			if err != nil {
				return err
			}
			if open := c.State().Open; len(open) == 1 {
				assert.Equal(t, 3, open[0].Chunks)
			}
			if err := r.Wait(t.Context()); err != nil {
				return err
			}
		}
		return nil
	}))
}

// A communicator works on a transport without any of the optional interfaces.
func TestConfigWithoutOptionalInterfaces(t *testing.T) {
	for _, name := range []string{"bcast/mcast-chain", "bcast/mcast-acktree"} {
		comms := group(t, 5, mem.Options{Seed: 1, Loss: 0.2}, runtime.Config{
			Algorithms: runtime.Algorithms{"bcast": {Name: name}}, MaxBcast: -1, Stall: -1, Retain: -1, Waiting: runtime.Waiting{Spin: -1, Idle: -1, Linger: -1},
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
