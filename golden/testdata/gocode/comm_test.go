package main

import (
	"context"
	"net"
	"reflect"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/schedgen/schedgen/ir"
	"github.com/schedgen/schedgen/runtime"
	"github.com/schedgen/schedgen/runtime/machine"
	"github.com/schedgen/schedgen/runtime/mem"
	"github.com/schedgen/schedgen/runtime/tcp"
	"github.com/schedgen/schedgen/runtime/transporttest"
	"github.com/schedgen/schedgen/runtime/wire"
	"github.com/schedgen/schedgen/schedule"
)

// The suite of communicators, run by generated code.
func TestCommMem(t *testing.T) {
	transporttest.Comm(t, transporttest.Using(func(t testing.TB, size int) []wire.Transport {
		ts, err := mem.New(size, mem.Options{Seed: 1, Loss: 0.3, Duplicate: 0.1, Reorder: 0.2})
		require.NoError(t, err)
		return mem.Transports(ts)
	}, find))
}

// Signals of barriers are flags here, in the places that generated code has.
func TestCommWindows(t *testing.T) {
	transporttest.Comm(t, transporttest.Using(connectWindows, find))
}

func connectWindows(t testing.TB, size int) []wire.Transport {
	ts, err := mem.New(size, mem.Options{Windows: true})
	require.NoError(t, err)
	return mem.Transports(ts)
}

func TestCommTCP(t *testing.T) {
	transporttest.Comm(t, transporttest.Using(connect, find))
}

// find returns the generated code for a configuration: all of it that is for
// its algorithms and their parameters, whatever the root and the chunks.
func find(cfg runtime.Config) []*machine.Schedule {
	if cfg.Bcast.Name == "" {
		cfg.Bcast.Name = "bcast/binomial"
	}
	if cfg.Barrier.Name == "" {
		cfg.Barrier.Name = "barrier/hsb"
	}
	var list []*machine.Schedule
	for _, t := range twins {
		h := &t.generated.Header
		if h.Ranks == cfg.Transport.Size() && (fits(h, cfg.Bcast) || fits(h, cfg.Barrier)) {
			list = append(list, t.generated)
		}
	}
	return list
}

func fits(h *ir.Header, a runtime.Algorithm) bool {
	p := a.Params
	p.Ranks, p.Root, p.Chunks = h.Ranks, h.Root, h.Chunks
	spec, err := schedule.New(a.Name, p)
	return err == nil && reflect.DeepEqual(spec.Header(), *h)
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
	for _, c := range []struct {
		ranks          int
		bcast, barrier runtime.Algorithm
		want           int // one for each root, and one barrier
	}{
		{3, runtime.Algorithm{}, runtime.Algorithm{}, 3 + 1},
		{3, runtime.Algorithm{Name: "bcast/chain"}, runtime.Algorithm{}, 3 + 1},
		{5, runtime.Algorithm{Name: "bcast/mcast-acktree"}, runtime.Algorithm{}, 5 + 1},
		{5, runtime.Algorithm{Name: "bcast/mcast-acktree", Params: schedule.Params{Hosts: 3}}, runtime.Algorithm{}, 5 + 1},
		{9, runtime.Algorithm{}, runtime.Algorithm{Name: "barrier/exchange", Params: schedule.Params{Degree: 2, Hosts: 3}}, 1},
		{6, runtime.Algorithm{}, runtime.Algorithm{Params: schedule.Params{FanIn: 2, FanOut: 3}}, 1},
		{6, runtime.Algorithm{}, runtime.Algorithm{Params: schedule.Params{FanIn: 2, FanOut: 4}}, 0},
	} {
		ts, err := mem.New(c.ranks, mem.Options{})
		require.NoError(t, err)
		require.Len(t, find(runtime.Config{Transport: ts[0], Bcast: c.bcast, Barrier: c.barrier}), c.want, "%+v", c)
		for _, tr := range ts {
			require.NoError(t, tr.Close(false, 0))
		}
	}
}
