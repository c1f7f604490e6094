//go:build verbs && linux && cgo

package verbs_test

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"os"
	goruntime "runtime"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"github.com/schedgen/schedgen/internal/test/transporttest"
	"github.com/schedgen/schedgen/runtime/hybrid"
	"github.com/schedgen/schedgen/runtime/tcp"
	"github.com/schedgen/schedgen/runtime/verbs"
	"github.com/schedgen/schedgen/runtime/wire"
)

func TestFrames(t *testing.T) { transporttest.Frames(t, connect(verbs.Config{})) }

func TestCommunicators(t *testing.T) { transporttest.Communicators(t, connect(verbs.Config{})) }

func TestComm(t *testing.T) { transporttest.Comm(t, connect(verbs.Config{})) }

func TestSplit(t *testing.T) { transporttest.Split(t, connect(verbs.Config{})) }

// Ranks of a host share memory, and the adapter carries everything between hosts, multicasts too.
func TestHybrid(t *testing.T) {
	connect := func(t testing.TB, size int) []wire.Transport {
		name := adapter(t)
		var list []wire.Transport
		for _, tr := range joined(t, size, func(ctx context.Context, rank int, c tcp.Config) (*hybrid.Transport, error) {
			host := fmt.Sprintf("%s host %d", t.Name(), rank%2)
			return hybrid.Join(ctx, hybrid.Config{TCP: c, Verbs: &verbs.Config{Device: name}, Host: host})
		}) {
			list = append(list, tr)
		}
		return list
	}
	t.Run("frames", func(t *testing.T) { transporttest.Frames(t, connect) })
	t.Run("communicators", func(t *testing.T) { transporttest.Communicators(t, connect) })
	t.Run("operations", func(t *testing.T) { transporttest.CommSample(t, connect) })
}

// TestCommLossy drops many datagrams.
func TestCommLossy(t *testing.T) { transporttest.Comm(t, connect(verbs.Config{Loss: 0.2, Seed: 1})) }

// adapter returns the name of the adapter.
func adapter(t testing.TB) string {
	name := os.Getenv(device)
	if name == "" {
		t.Skip(device + " names no adapter")
	}
	return name
}

// connect returns a function that creates transports over one port, configured like base.
func connect(base verbs.Config) transporttest.Make {
	return func(t testing.TB, size int) []wire.Transport {
		base.Device = adapter(t)
		var list []wire.Transport
		for _, tr := range joinAll(t, size, func(_ int, c *verbs.Config) { *c = base }) {
			list = append(list, tr)
		}
		return list
	}
}

// joinAll joins size ranks, each with a configuration that edit completes.
func joinAll(t testing.TB, size int, edit func(rank int, c *verbs.Config)) []*verbs.Transport {
	return joined(t, size, func(ctx context.Context, rank int, c tcp.Config) (*verbs.Transport, error) {
		var cfg verbs.Config
		edit(rank, &cfg)
		cfg.TCP.Rank, cfg.TCP.Size, cfg.TCP.Coordinator, cfg.TCP.Listener = c.Rank, c.Size, c.Coordinator, c.Listener
		return verbs.Join(ctx, cfg)
	})
}

// joined joins size ranks by a function.
func joined[T any](t testing.TB, size int, join func(ctx context.Context, rank int, c tcp.Config) (T, error)) []T {
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	trs, errs := make([]T, size), make([]error, size)
	var wg sync.WaitGroup
	for rank := range size {
		cfg := tcp.Config{Rank: rank, Size: size, Coordinator: l.Addr().String()}
		if rank == 0 {
			cfg.Listener = l
		}
		wg.Go(func() { trs[rank], errs[rank] = join(ctx, rank, cfg) })
	}
	wg.Wait()
	require.NoError(t, errors.Join(errs...))
	return trs
}

// Each problem with a port has its own error.
func TestPorts(t *testing.T) {
	name := adapter(t)
	for _, c := range []struct {
		cfg  verbs.Config
		want error
	}{
		{verbs.Config{Device: "nobody0"}, verbs.ErrDevice},
		{verbs.Config{Device: name + ":7"}, verbs.ErrPort},
		{verbs.Config{Device: name, Address: netip.MustParseAddr("192.0.2.1")}, verbs.ErrAddress},
		{verbs.Config{Device: name + ":256"}, verbs.ErrPort},
		{verbs.Config{Device: name}, nil},
		{verbs.Config{Device: name + ":1"}, nil},
		{verbs.Config{}, nil},
	} {
		err := verbs.Check(c.cfg)
		require.ErrorIs(t, err, c.want, "%+v", c.cfg)
	}
}

// The error names a limit on locked memory. The limit binds root only without the capability, which
// one thread gives up here.
func TestLockedMemory(t *testing.T) {
	name := adapter(t)
	var limit unix.Rlimit
	require.NoError(t, unix.Getrlimit(unix.RLIMIT_MEMLOCK, &limit))
	require.NoError(t, unix.Setrlimit(unix.RLIMIT_MEMLOCK, &unix.Rlimit{Cur: 1 << 16, Max: limit.Max}))
	defer func() { require.NoError(t, unix.Setrlimit(unix.RLIMIT_MEMLOCK, &limit)) }()
	errs := make(chan error, 1)
	go func() {
		goruntime.LockOSThread() // never unlocked, so that the thread ends
		err := forbidLocking()
		if err == nil {
			_, err = verbs.Join(context.Background(), verbs.Config{Device: name, TCP: tcp.Config{Size: 1}})
		}
		errs <- err
	}()
	err := <-errs
	require.ErrorIs(t, err, verbs.ErrLocked)
	require.ErrorContains(t, err, "RLIMIT_MEMLOCK is 65536")
}

// forbidLocking takes the capability from this thread.
func forbidLocking() error {
	head := unix.CapUserHeader{Version: unix.LINUX_CAPABILITY_VERSION_3}
	var caps [2]unix.CapUserData
	if err := unix.Capget(&head, &caps[0]); err != nil {
		return err
	}
	caps[0].Effective &^= 1 << unix.CAP_IPC_LOCK
	return unix.Capset(&head, &caps[0])
}
