package mcast_test

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
	"github.com/schedgen/schedgen/runtime/mcast"
	"github.com/schedgen/schedgen/runtime/tcp"
	"github.com/schedgen/schedgen/runtime/wire"
)

const patience = 60 * time.Second

// inNamespace is set in the environment of a test that runs in its own network namespace.
const inNamespace = "SCHEDGEN_TEST_NAMESPACE"

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func TestFrames(t *testing.T) { transporttest.Frames(t, connect(mcast.Config{Family: 4})) }

func TestCommunicators(t *testing.T) {
	transporttest.Communicators(t, connect(mcast.Config{Family: 4}))
}

func TestComm(t *testing.T) { transporttest.CommDaily(t, connect(mcast.Config{Family: 4})) }

func TestSplit(t *testing.T) { transporttest.SplitDaily(t, connect(mcast.Config{Family: 4})) }

// TestCommLossy drops many datagrams, and cuts chunks into small ones.
func TestCommLossy(t *testing.T) {
	heavy.Needs(t, heavy.Transports) // otherwise as TestCommCollected
	transporttest.Comm(t, connect(mcast.Config{Family: 4, MTU: 1500, Loss: 0.2, Seed: 1}))
}

// With Collect fewer datagrams arrive.
func TestFramesCollected(t *testing.T) {
	transporttest.Datagrams(t, connect(mcast.Config{Family: 4, Collect: time.Millisecond}))
}

// The everyday test also encrypts, collects and loses many datagrams.
func TestCommCollected(t *testing.T) {
	cfg := heavy.Or(sealed(true), mcast.Config{Family: 4, MTU: 1500})
	cfg.Collect, cfg.Loss, cfg.Seed = time.Millisecond, heavy.Or(0.2, 0.05), 2
	transporttest.CommSample(t, connect(cfg))
}

func TestFramesSigned(t *testing.T) { transporttest.Datagrams(t, connect(sealed(false))) }

func TestFramesEncrypted(t *testing.T) { transporttest.Datagrams(t, connect(sealed(true))) }

// A transport says how its key protects what it sends.
func TestSealedIsSaid(t *testing.T) {
	for want, base := range map[string]mcast.Config{"no": {Family: 4}, "signed": sealed(false), "encrypted": sealed(true)} {
		for _, tr := range joinAll(t, 2, base) {
			require.Equal(t, want, tr.Caps().Sealed)
			require.NoError(t, tr.Close(false, 0))
		}
	}
}

func TestCommEncrypted(t *testing.T) {
	heavy.Needs(t, heavy.Transports) // otherwise as TestCommCollected
	transporttest.CommSample(t, connect(sealed(true)))
}

func sealed(encrypt bool) mcast.Config {
	return mcast.Config{Family: 4, MTU: 1500, TCP: tcp.Config{Key: bytes.Repeat([]byte("k"), tcp.MinKey), Encrypt: encrypt}}
}

// connect returns a maker of transports on loopback, configured like base.
func connect(base mcast.Config) transporttest.Make {
	return func(t testing.TB, size int) []wire.Transport {
		var list []wire.Transport
		for _, tr := range joinAll(t, size, base) {
			list = append(list, tr)
		}
		return list
	}
}

func joinAll(t testing.TB, size int, base mcast.Config) []*mcast.Transport {
	trs, errs := tryJoin(t, size, base, func(int, *mcast.Config) {})
	for rank, err := range errs {
		require.NoError(t, err, "rank %d", rank)
	}
	return trs
}

// tryJoin joins size ranks, each with a configuration that edit may change.
func tryJoin(t testing.TB, size int, base mcast.Config, edit func(int, *mcast.Config)) ([]*mcast.Transport, []error) {
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	trs, errs := make([]*mcast.Transport, size), make([]error, size)
	var wg sync.WaitGroup
	for rank := range size {
		cfg := base
		cfg.TCP.Rank, cfg.TCP.Size, cfg.TCP.Coordinator = rank, size, l.Addr().String()
		if rank == 0 {
			cfg.TCP.Listener = l
		}
		edit(rank, &cfg)
		wg.Go(func() { trs[rank], errs[rank] = mcast.Join(ctx, cfg) })
	}
	wg.Wait()
	return trs, errs
}
