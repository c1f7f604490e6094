package stream_test

import (
	"bytes"
	"context"
	"net"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/schedgen/schedgen/internal/test/heavy"
	"github.com/schedgen/schedgen/internal/test/transporttest"
	"github.com/schedgen/schedgen/internal/transport/stream"
	"github.com/schedgen/schedgen/runtime/wire"
)

const patience = 60 * time.Second

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// Ranks on one host that treat each other as ranks of other hosts.
func TestFramesBetweenHosts(t *testing.T) { transporttest.Frames(t, connectFar) }

func TestCommunicatorsBetweenHosts(t *testing.T) {
	heavy.Needs(t, heavy.Transports) // otherwise as those of package tcp, but for the hosts
	transporttest.Communicators(t, connectFar)
}

// Ranks with a key, and with encryption.
func TestFramesSealed(t *testing.T) { sealed(t, transporttest.Frames) }

func TestCommunicatorsSealed(t *testing.T) { sealed(t, transporttest.Communicators) }

// sealed runs a suite with encryption, and in the stage of all transports also without it:
// authenticated traffic takes the same way.
func sealed(t *testing.T, suite func(*testing.T, transporttest.Make)) {
	for name, connect := range sealings {
		if name == "encrypted" || heavy.Transports.Runs() {
			t.Run(name, func(t *testing.T) { suite(t, connect) })
		}
	}
}

// A shared listener keeps all guarantees of a transport.
func TestFramesShared(t *testing.T) {
	heavy.Needs(t, heavy.Transports) // otherwise TestSharedTree shows how its ranks connect
	transporttest.Frames(t, func(t testing.TB, size int) (list []wire.Transport) {
		trs, _ := stream.JoinShared(t, size, nil)
		for _, tr := range trs {
			list = append(list, tr)
		}
		return list
	})
}

var sealings = map[string]transporttest.Make{"signed": connectSealed(false), "encrypted": connectSealed(true)}

func connectSealed(encrypt bool) transporttest.Make {
	return func(t testing.TB, size int) (list []wire.Transport) {
		trs, errs := tryJoin(t, size, func(_ int, c *stream.Config) {
			c.Key, c.Encrypt = bytes.Repeat([]byte("k"), 32), encrypt
		})
		for rank, err := range errs {
			require.NoError(t, err, "rank %d", rank)
			list = append(list, trs[rank])
		}
		return list
	}
}

func connectFar(t testing.TB, size int) []wire.Transport {
	list := connect(t, size)
	for _, tr := range list {
		tr.(*stream.Transport).Estrange()
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
func joinAll(t testing.TB, size int) []*stream.Transport {
	trs, errs := tryJoin(t, size, func(int, *stream.Config) {})
	for rank, err := range errs {
		require.NoError(t, err, "rank %d", rank)
	}
	return trs
}

// tryJoin joins size ranks, each with a configuration that edit may change.
func tryJoin(t testing.TB, size int, edit func(int, *stream.Config)) ([]*stream.Transport, []error) {
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	trs, errs := make([]*stream.Transport, size), make([]error, size)
	var wg sync.WaitGroup
	for rank := range size {
		cfg := stream.Config{Options: stream.Options{Rank: rank, Size: size, Coordinator: l.Addr().String()}}
		if rank == 0 {
			cfg.Listener = l
		}
		edit(rank, &cfg)
		wg.Go(func() { trs[rank], errs[rank] = stream.Join(ctx, cfg) })
	}
	wg.Wait()
	return trs, errs
}
