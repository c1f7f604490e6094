package main

import (
	"context"
	"net"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/schedgen/schedgen/runtime"
	"github.com/schedgen/schedgen/runtime/machine"
	"github.com/schedgen/schedgen/runtime/mem"
	"github.com/schedgen/schedgen/runtime/tcp"
	"github.com/schedgen/schedgen/runtime/transporttest"
	"github.com/schedgen/schedgen/runtime/wire"
)

// The suite of communicators, run by generated code.
func TestCommMem(t *testing.T) {
	transporttest.Comm(t, transporttest.Using(func(t testing.TB, size int) []wire.Transport {
		ts, err := mem.New(size, mem.Options{Seed: 1, Loss: 0.3, Duplicate: 0.1, Reorder: 0.2})
		require.NoError(t, err)
		return mem.Transports(ts)
	}, find))
}

func TestCommTCP(t *testing.T) {
	transporttest.Comm(t, transporttest.Using(connect, find))
}

// find returns the generated code for a configuration: all of it that is for
// its algorithms, its number of ranks and no hosts.
func find(cfg runtime.Config) []*machine.Schedule {
	if cfg.Bcast.Name == "" {
		cfg.Bcast.Name = "bcast/binomial"
	}
	if cfg.Barrier.Name == "" {
		cfg.Barrier.Name = "barrier/hsb"
	}
	var list []*machine.Schedule
	for _, t := range twins {
		if t.generated.Header.Ranks == cfg.Transport.Size() && (fits(t.name, cfg.Bcast) || fits(t.name, cfg.Barrier)) {
			list = append(list, t.generated)
		}
	}
	return list
}

func fits(name string, a runtime.Algorithm) bool {
	p := a.Params
	return p.Degree+p.FanIn+p.FanOut+p.Hosts == 0 && strings.HasPrefix(name, strings.NewReplacer("/", "_", "-", "_").Replace(a.Name)+"__")
}

func connect(t testing.TB, size int) []wire.Transport {
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
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
	for _, err := range errs {
		require.NoError(t, err)
	}
	return list
}

// Nothing of the above is worth much if no communicator finds its code.
func TestFind(t *testing.T) {
	ts, err := mem.New(3, mem.Options{})
	require.NoError(t, err)
	for _, name := range []string{"", "bcast/chain", "bcast/mcast-acktree"} {
		list := find(runtime.Config{Transport: ts[0], Bcast: runtime.Algorithm{Name: name}})
		require.Len(t, list, 4, name) // three roots, one barrier
	}
	for _, tr := range ts {
		require.NoError(t, tr.Close(0, false, 0))
	}
}
