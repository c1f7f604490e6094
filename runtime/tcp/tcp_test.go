package tcp_test

import (
	"context"
	"errors"
	"net"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/schedgen/schedgen/internal/test/transporttest"
	"github.com/schedgen/schedgen/runtime/tcp"
	"github.com/schedgen/schedgen/runtime/wire"
)

const patience = 60 * time.Second

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func TestFrames(t *testing.T) { transporttest.Frames(t, connect) }

func TestCommunicators(t *testing.T) { transporttest.Communicators(t, connect) }

func connect(t testing.TB, size int) []wire.Transport {
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	list, errs := make([]wire.Transport, size), make([]error, size)
	var wg sync.WaitGroup
	for rank := range size {
		cfg := tcp.Config{Rank: rank, Size: size, Coordinator: l.Addr().String()}
		if rank == 0 {
			cfg.Listener = l
		}
		wg.Go(func() { list[rank], errs[rank] = tcp.Join(ctx, cfg) })
	}
	wg.Wait()
	require.NoError(t, errors.Join(errs...))
	return list
}

func TestComm(t *testing.T) { transporttest.CommDaily(t, connect) }

func TestSplit(t *testing.T) { transporttest.SplitDaily(t, connect) }
