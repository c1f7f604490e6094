package twins

import (
	"cmp"
	"context"
	"net"
	"reflect"
	goruntime "runtime"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/schedgen/schedgen/internal/test/transporttest"
	"github.com/schedgen/schedgen/ir"
	"github.com/schedgen/schedgen/runtime"
	"github.com/schedgen/schedgen/runtime/machine"
	"github.com/schedgen/schedgen/runtime/mem"
	"github.com/schedgen/schedgen/runtime/shm"
	"github.com/schedgen/schedgen/runtime/tcp"
	"github.com/schedgen/schedgen/runtime/wire"
	"github.com/schedgen/schedgen/schedule"
)

// The suite of communicators, run by generated code. With windows, signals of barriers are flags, in
// the places that generated code has.
func TestCommMem(t *testing.T) {
	for name, o := range map[string]mem.Options{
		"lossy":   {Seed: 1, Loss: 0.3, Duplicate: 0.1, Reorder: 0.2},
		"windows": {Windows: true},
	} {
		t.Run(name, func(t *testing.T) {
			transporttest.CommSampleVirtual(t, transporttest.Using(func(t testing.TB, size int) []wire.Transport {
				ts, err := mem.New(size, o)
				require.NoError(t, err)
				return mem.Transports(ts)
			}, find))
		})
	}
}

func TestCommWindows(t *testing.T) {
	transporttest.CommSample(t, transporttest.Using(connectWindows, find))
}

// connectWindows joins ranks that have windows: those of shared memory where there is any.
func connectWindows(t testing.TB, size int) []wire.Transport {
	if goruntime.GOOS != "linux" {
		ts, err := mem.New(size, mem.Options{Windows: true})
		require.NoError(t, err)
		return mem.Transports(ts)
	}
	f, err := shm.Create(size)
	require.NoError(t, err)
	defer f.Close()
	return joined(t, size, func(ctx context.Context, rank int) (wire.Transport, error) {
		return shm.Join(ctx, shm.Config{Rank: rank, Size: size, File: f})
	})
}

// A barrier of generated code puts as many flags as the one that the runtime makes itself,
// at every rank; so it does if some ranks interpret the schedule.
func TestFlagsOfBarriers(t *testing.T) {
	for _, tw := range communicating {
		h := &tw.generated.Header
		if h.Collective != "barrier" || tw.generated.Places == nil || h.Ranks == 1 {
			continue
		}
		var p schedule.Params
		for _, param := range h.Params {
			*map[string]*int{"degree": &p.Degree, "fan-in": &p.FanIn, "fan-out": &p.FanOut, "hosts": &p.Hosts}[param.Name] = param.Value
		}
		own := runtime.Algorithm{Name: h.Name(), Params: p}
		want := flagsOf(t, h.Ranks, runtime.Config{Algorithms: runtime.Algorithms{"barrier": own}}, func(int) *machine.Schedule { return nil })
		require.NotContains(t, want, uint64(0))
		spec, err := schedule.New(h.Name(), schedule.Params{Ranks: h.Ranks, Degree: p.Degree, FanIn: p.FanIn, FanOut: p.FanOut, Hosts: p.Hosts})
		require.NoError(t, err)
		interpreted, err := machine.Of(spec.Schedule())
		require.NoError(t, err)
		for every := 1; every <= 2; every++ {
			require.Equal(t, want, flagsOf(t, h.Ranks, runtime.Config{}, func(rank int) *machine.Schedule {
				if rank%every == 0 {
					return tw.generated
				}
				return interpreted
			}), "%s %+v", h.Name(), h.Params)
		}
	}
}

// flagsOf returns how many flags each rank puts in a few barriers. They are traced, so that each is gone through as any operation:
// one that a rank tries to go through at once, in vain, is begun anew, with flags that count again.
func flagsOf(t *testing.T, ranks int, cfg runtime.Config, of func(rank int) *machine.Schedule) (counts []uint64) {
	const times = 5
	trs := connectWindows(t, ranks)
	counts = make([]uint64, ranks)
	var wg sync.WaitGroup
	for rank, tr := range trs {
		wg.Go(func() {
			cfg := cfg
			cfg.Transport, cfg.Observe.Trace = tr, func(runtime.Event) {}
			c, err := runtime.Join(t.Context(), cfg)
			assert.NoError(t, err)
			if s := of(rank); s != nil {
				assert.NoError(t, c.Use(s))
			}
			assert.NoError(t, c.Barrier(t.Context()))
			before := c.Totals().Transport.Flags
			for range times {
				assert.NoError(t, c.Barrier(t.Context()))
			}
			counts[rank] = c.Totals().Transport.Flags - before
			assert.NoError(t, c.Close())
		})
	}
	wg.Wait()
	return counts
}

func TestCommTCP(t *testing.T) {
	transporttest.CommSample(t, transporttest.Using(connect, find))
}

// find returns the generated code for a configuration: all of it that is for
// its algorithms and their parameters, whatever the root and the chunks.
func find(cfg runtime.Config) []*machine.Schedule {
	bcast, barrier := cfg.Algorithms["bcast"], cfg.Algorithms["barrier"]
	bcast.Name = cmp.Or(bcast.Name, "bcast/binomial")
	barrier.Name = cmp.Or(barrier.Name, "barrier/hsb")
	var list []*machine.Schedule
	for _, t := range communicating {
		h := &t.generated.Header
		if h.Ranks == cfg.Transport.Size() && (fits(h, bcast) || fits(h, barrier)) {
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
	l, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	return joined(t, size, func(ctx context.Context, rank int) (wire.Transport, error) {
		cfg := tcp.Config{Rank: rank, Size: size, Coordinator: l.Addr().String()}
		if rank == 0 {
			cfg.Listener = l
		}
		return tcp.Join(ctx, cfg)
	})
}

// joined has all ranks join at once.
func joined(t testing.TB, size int, join func(ctx context.Context, rank int) (wire.Transport, error)) []wire.Transport {
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	list, errs := make([]wire.Transport, size), make([]error, size)
	var wg sync.WaitGroup
	for rank := range size {
		wg.Go(func() { list[rank], errs[rank] = join(ctx, rank) })
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
		{5, runtime.Algorithm{}, runtime.Algorithm{}, 5 + 1},
		{5, runtime.Algorithm{Name: "bcast/chain"}, runtime.Algorithm{}, 5 + 1},
		{5, runtime.Algorithm{Name: "bcast/mcast-acktree"}, runtime.Algorithm{}, 5 + 1},
		{5, runtime.Algorithm{Name: "bcast/mcast-acktree", Params: schedule.Params{Hosts: 3}}, runtime.Algorithm{}, 5 + 1},
		{6, runtime.Algorithm{}, runtime.Algorithm{Name: "barrier/exchange", Params: schedule.Params{Degree: 3}}, 1},
		{6, runtime.Algorithm{}, runtime.Algorithm{Params: schedule.Params{FanIn: 2, FanOut: 3}}, 1},
		{6, runtime.Algorithm{}, runtime.Algorithm{Params: schedule.Params{FanIn: 2, FanOut: 4}}, 0},
	} {
		ts, err := mem.New(c.ranks, mem.Options{})
		require.NoError(t, err)
		require.Len(t, find(runtime.Config{Transport: ts[0], Algorithms: runtime.Algorithms{"bcast": c.bcast, "barrier": c.barrier}}), c.want, "%+v", c)
		for _, tr := range ts {
			require.NoError(t, tr.Close(false, 0))
		}
	}
}
