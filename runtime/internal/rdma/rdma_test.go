package rdma

import (
	"context"
	"errors"
	"net"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/schedgen/schedgen/runtime/transporttest"
	"github.com/schedgen/schedgen/runtime/wire"
)

const patience = 60 * time.Second

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func TestFrames(t *testing.T) { transporttest.Frames(t, connect(Config{})) }

func TestCommunicators(t *testing.T) { transporttest.Communicators(t, connect(Config{})) }

func TestComm(t *testing.T) { transporttest.Comm(t, connect(Config{})) }

func TestSplit(t *testing.T) { transporttest.Split(t, connect(Config{})) }

func TestCommLossy(t *testing.T) { transporttest.Comm(t, connect(Config{Loss: 0.2, Seed: 1})) }

// connect returns a maker of transports that a fabric connects.
func connect(base Config) transporttest.Make {
	return func(t testing.TB, size int) []wire.Transport {
		n := newFabric()
		trs, errs := joinAll(t, n, size, func(_ int, c *Config) {
			c.Loss, c.Seed = base.Loss, base.Seed
			c.Open = n.open(1024, true)
		})
		require.NoError(t, errors.Join(errs...))
		t.Cleanup(func() { require.Zero(t, n.starved, "messages for which no buffer was posted") })
		var list []wire.Transport
		for _, tr := range trs {
			list = append(list, tr)
		}
		return list
	}
}

// joinAll joins size ranks, each with a configuration that edit completes.
func joinAll(t testing.TB, n *fabric, size int, edit func(rank int, c *Config)) ([]*Transport, []error) {
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	trs, errs := make([]*Transport, size), make([]error, size)
	var wg sync.WaitGroup
	for rank := range size {
		var cfg Config
		cfg.Rank, cfg.Size, cfg.Coordinator = rank, size, l.Addr().String()
		if rank == 0 {
			cfg.Listener = l
		}
		edit(rank, &cfg)
		wg.Go(func() { trs[rank], errs[rank] = Join(ctx, cfg) })
	}
	wg.Wait()
	return trs, errs
}
