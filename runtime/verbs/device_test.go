//go:build verbs && linux && cgo

package verbs_test

import (
	"context"
	"errors"
	"net"
	"os"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/schedgen/schedgen/runtime/transporttest"
	"github.com/schedgen/schedgen/runtime/verbs"
	"github.com/schedgen/schedgen/runtime/wire"
)

// device names the adapter of these tests. bench/guests makes one where there is none.
const device = "SCHEDGEN_VERBS_DEVICE"

func TestFrames(t *testing.T) { transporttest.Frames(t, connect(verbs.Config{})) }

func TestCommunicators(t *testing.T) { transporttest.Communicators(t, connect(verbs.Config{})) }

func TestComm(t *testing.T) { transporttest.Comm(t, connect(verbs.Config{})) }

func TestSplit(t *testing.T) { transporttest.Split(t, connect(verbs.Config{})) }

// TestCommLossy drops many datagrams.
func TestCommLossy(t *testing.T) { transporttest.Comm(t, connect(verbs.Config{Loss: 0.2, Seed: 1})) }

// connect returns a maker of transports over one port, configured like base.
func connect(base verbs.Config) transporttest.Make {
	return func(t testing.TB, size int) []wire.Transport {
		if base.Device = os.Getenv(device); base.Device == "" {
			t.Skip(device + " names no adapter")
		}
		var list []wire.Transport
		for _, tr := range joinAll(t, size, func(_ int, c *verbs.Config) { *c = base }) {
			list = append(list, tr)
		}
		return list
	}
}

// joinAll joins size ranks, each with a configuration that edit completes.
func joinAll(t testing.TB, size int, edit func(rank int, c *verbs.Config)) []*verbs.Transport {
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	trs, errs := make([]*verbs.Transport, size), make([]error, size)
	var wg sync.WaitGroup
	for rank := range size {
		var cfg verbs.Config
		edit(rank, &cfg)
		cfg.TCP.Rank, cfg.TCP.Size, cfg.TCP.Coordinator = rank, size, l.Addr().String()
		if rank == 0 {
			cfg.TCP.Listener = l
		}
		wg.Go(func() { trs[rank], errs[rank] = verbs.Join(ctx, cfg) })
	}
	wg.Wait()
	require.NoError(t, errors.Join(errs...))
	return trs
}
