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

func (p *placed) Caps() (caps wire.Caps) {
	for r := range 4 * min(p.hosts, 1) {
		caps.Host = append(caps.Host, r*p.hosts/4)
	}
	return caps
}

func (p *placed) Put(to int, f *wire.Frame) {
	if f.Kind == wire.FrameSlot {
		p.to[to] = true
	}
	p.Transport.Put(to, f)
}

func puts(to ...int) map[int]bool {
	all := make(map[int]bool)
	for _, rank := range to {
		all[rank] = true
	}
	return all
}

// The default is the hierarchical form between hosts with several ranks; explicit choices win.
func TestDefaultsAboveHosts(t *testing.T) {
	flat := runtime.Algorithm{Name: "barrier/hsb"}
	for name, test := range map[string]struct {
		hosts   int
		barrier runtime.Algorithm
		last    map[int]bool // the ranks to which rank 3 puts
		first   map[int]bool // the ranks to which rank 0 puts
	}{
		"default":          {hosts: 2, last: puts(2), first: puts(1, 2)},
		"one host":         {hosts: 1, last: puts(0), first: puts(1, 2, 3)},
		"one rank a host":  {hosts: 4, last: puts(0, 1, 2), first: puts(1, 2, 3)},
		"unknown":          {hosts: 0, last: puts(0), first: puts(1, 2, 3)},
		"explicit, flat":   {hosts: 2, barrier: flat, last: puts(0), first: puts(1, 2, 3)},
		"explicit, 1 host": {hosts: 2, barrier: runtime.Algorithm{Params: schedule.Params{Hosts: 1}}, last: puts(0), first: puts(1, 2, 3)},
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
			require.Equal(t, test.last, trs[3].to)
			require.Equal(t, test.first, trs[0].to)
		})
	}
}
