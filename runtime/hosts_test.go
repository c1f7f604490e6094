package runtime_test

import (
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/schedgen/schedgen/runtime"
	"github.com/schedgen/schedgen/runtime/mem"
	"github.com/schedgen/schedgen/runtime/wire"
	"github.com/schedgen/schedgen/schedule"
)

// placed is a transport that knows hosts, and records the destinations of puts.
type placed struct {
	wire.Transport
	hosts int
	to    map[int]bool
}

func (p *placed) Caps() wire.Caps { return wire.Caps{Hosts: p.hosts} }

func (p *placed) Put(to int, f *wire.Frame) {
	if f.Kind == wire.FrameSlot {
		p.to[to] = true
	}
	p.Transport.Put(to, f)
}

// The default is the hierarchical form between hosts with several ranks; explicit choices win.
func TestDefaultsAboveHosts(t *testing.T) {
	flat := runtime.Algorithm{Name: "barrier/hsb"}
	for name, test := range map[string]struct {
		hosts   int
		barrier runtime.Algorithm
		last    int // the rank that rank 3 reports a barrier to
		first   map[int]bool
	}{
		"default":          {hosts: 2, last: 2, first: map[int]bool{1: true, 2: true}},
		"one host":         {hosts: 1, last: 0, first: map[int]bool{1: true, 2: true, 3: true}},
		"one rank a host":  {hosts: 4, last: 0, first: map[int]bool{1: true, 2: true, 3: true}},
		"unknown":          {hosts: 0, last: 0, first: map[int]bool{1: true, 2: true, 3: true}},
		"explicit, flat":   {hosts: 2, barrier: flat, last: 0, first: map[int]bool{1: true, 2: true, 3: true}},
		"explicit, 1 host": {hosts: 2, barrier: runtime.Algorithm{Params: schedule.Params{Hosts: 1}}, last: 0, first: map[int]bool{1: true, 2: true, 3: true}},
	} {
		t.Run(name, func(t *testing.T) {
			net, err := mem.New(4, mem.Options{})
			require.NoError(t, err)
			var wg sync.WaitGroup
			trs := make([]*placed, 4)
			for rank := range trs {
				trs[rank] = &placed{net[rank], test.hosts, map[int]bool{}}
				c, err := runtime.Join(t.Context(), runtime.Config{Transport: trs[rank], Algorithms: runtime.Algorithms{"barrier": test.barrier}})
				require.NoError(t, err)
				wg.Go(func() {
					if err := c.Barrier(t.Context()); err != nil {
						t.Error(err)
					}
				})
				defer c.Close()
			}
			wg.Wait()
			require.Equal(t, map[int]bool{test.last: true}, trs[3].to)
			require.Equal(t, test.first, trs[0].to)
		})
	}
}
