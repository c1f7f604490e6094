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

func TestFindPlace(t *testing.T) {
	good := map[string]struct {
		env  map[string]string
		want runtime.Place
	}{
		"own":         {map[string]string{"SCHEDGEN_RANK": "1", "SCHEDGEN_SIZE": "4"}, runtime.Place{Rank: 1, Size: 4, Source: "SCHEDGEN_RANK and SCHEDGEN_SIZE"}},
		"own wins":    {map[string]string{"SCHEDGEN_RANK": "1", "SCHEDGEN_SIZE": "4", "PMI_RANK": "0", "PMI_SIZE": "2"}, runtime.Place{Rank: 1, Size: 4, Source: "SCHEDGEN_RANK and SCHEDGEN_SIZE"}},
		"slurm":       {map[string]string{"SLURM_PROCID": "7", "SLURM_NTASKS": "8"}, runtime.Place{Rank: 7, Size: 8, Source: "SLURM_PROCID and SLURM_NTASKS"}},
		"two, agreed": {map[string]string{"SLURM_PROCID": "7", "SLURM_NTASKS": "8", "PMI_RANK": "7", "PMI_SIZE": "8"}, runtime.Place{Rank: 7, Size: 8, Source: "PMI_RANK and PMI_SIZE"}},
	}
	for name, c := range good {
		t.Run(name, func(t *testing.T) {
			got, err := runtime.FindPlace(func(k string) string { return c.env[k] })
			require.NoError(t, err)
			require.Equal(t, c.want, got)
		})
	}
	bad := map[string]struct {
		env  map[string]string
		want string
	}{
		"nothing":      {nil, "SCHEDGEN_RANK"},
		"half":         {map[string]string{"PMI_RANK": "1"}, `PMI_SIZE is ""`},
		"no number":    {map[string]string{"PMI_RANK": "x", "PMI_SIZE": "2"}, "PMI_RANK"},
		"outside":      {map[string]string{"RANK": "2", "WORLD_SIZE": "2"}, "RANK is 2"},
		"contradicted": {map[string]string{"PMI_RANK": "0", "PMI_SIZE": "2", "RANK": "1", "WORLD_SIZE": "2"}, "PMI_RANK and PMI_SIZE say rank 0 of 2"},
	}
	for name, c := range bad {
		t.Run(name, func(t *testing.T) {
			_, err := runtime.FindPlace(func(k string) string { return c.env[k] })
			require.ErrorContains(t, err, c.want)
		})
	}
}

func TestBlocks(t *testing.T) {
	for hosts, want := range map[string]int{
		"": 0, "a": 1, "aa": 1, "ab": 2, "aab": 2, "abb": 0, "aabbcc": 3, "aba": 0, "aabbaa": 0, "aaaab": 0,
		"aaaabbbbccccdddd": 4, "aaabbccc": 0, "aaabbbcc": 3, "abcdefgh": 8,
	} {
		require.Equal(t, want, runtime.Blocks([]byte(hosts)), hosts)
	}
}

// What Blocks takes for blocks are those of the schedules.
func TestBlocksAreThoseOfSchedules(t *testing.T) {
	for ranks := 1; ranks <= 40; ranks++ {
		for hosts := 1; hosts <= ranks; hosts++ {
			host := make([]int, ranks)
			for r := range host {
				host[r] = -(r * hosts / ranks)
			}
			require.Equal(t, hosts, runtime.Blocks(host), "%d ranks", ranks)
		}
	}
}

// placed is a transport that knows hosts, and notes where it puts.
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

// Whoever chooses nothing has the hierarchical form between hosts with several
// ranks; explicit choices win.
func TestDefaultsAboveHosts(t *testing.T) {
	flat := runtime.Algorithm{Name: "barrier/hsb"}
	for name, test := range map[string]struct {
		hosts   int
		barrier runtime.Algorithm
		last    int // where rank 3 reports a barrier
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
				c, err := runtime.Join(t.Context(), runtime.Config{Transport: trs[rank], Barrier: test.barrier})
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
