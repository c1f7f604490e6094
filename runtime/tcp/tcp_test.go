package tcp_test

import (
	"context"
	"net"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/schedgen/schedgen/runtime/tcp"
	"github.com/schedgen/schedgen/runtime/transporttest"
	"github.com/schedgen/schedgen/runtime/wire"
)

const patience = 60 * time.Second

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func TestFrames(t *testing.T) { transporttest.Frames(t, connect) }

// Ranks on one host, which take each other for hosts of their own.
func TestFramesBetweenHosts(t *testing.T) { transporttest.Frames(t, connectFar) }

func TestCommunicators(t *testing.T) { transporttest.Communicators(t, connect) }

func TestCommunicatorsBetweenHosts(t *testing.T) { transporttest.Communicators(t, connectFar) }

func connectFar(t testing.TB, size int) []wire.Transport {
	list := connect(t, size)
	for _, tr := range list {
		tr.(*tcp.Transport).Estrange()
	}
	return list
}

func connect(t testing.TB, size int) []wire.Transport {
	var list []wire.Transport
	for _, tr := range joinAll(t, size) {
		list = append(list, tr)
	}
	return list
}

// joinAll joins size ranks on loopback.
func joinAll(t testing.TB, size int) []*tcp.Transport {
	trs, errs := tryJoin(t, size, func(int, *tcp.Config) {})
	for rank, err := range errs {
		require.NoError(t, err, "rank %d", rank)
	}
	return trs
}

// tryJoin joins size ranks, each with a configuration that edit may change.
func tryJoin(t testing.TB, size int, edit func(int, *tcp.Config)) ([]*tcp.Transport, []error) {
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	trs, errs := make([]*tcp.Transport, size), make([]error, size)
	var wg sync.WaitGroup
	for rank := range size {
		cfg := tcp.Config{Rank: rank, Size: size, Coordinator: l.Addr().String()}
		if rank == 0 {
			cfg.Listener = l
		}
		edit(rank, &cfg)
		wg.Go(func() { trs[rank], errs[rank] = tcp.Join(ctx, cfg) })
	}
	wg.Wait()
	return trs, errs
}

func TestComm(t *testing.T) { transporttest.Comm(t, connect) }
