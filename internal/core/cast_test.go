package core

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/schedgen/schedgen/internal/core/flow"
	"github.com/schedgen/schedgen/runtime/machine"
	"github.com/schedgen/schedgen/runtime/wire"
	"github.com/schedgen/schedgen/schedule"
)

// A multicast counts only from the rank that holds the chunk: the root, or without a root the rank
// of the block. If several ranks multicast, recovery is left to the rules of the schedule.
func TestMulticastingRanks(t *testing.T) {
	plan := func(name string, p schedule.Params, rank int, recovers bool) *Plan {
		spec, err := schedule.New(name, p)
		require.NoError(t, err)
		all := spec.Schedule()
		if recovers && !all.Recovers {
			all.Recovers, all.Programs[rank].Ask = true, []int32{0}
		}
		compiled, err := machine.Of(all)
		require.NoError(t, err)
		program, err := compiled.Compile(rank)
		require.NoError(t, err)
		return NewPlan(&all.Header, program, all.Programs[all.Root], 0)
	}
	p := plan("allgather/mcast", schedule.Params{Ranks: 3, Chunks: 2}, 2, true)
	o := &op{plan: p, root: p.header.Root}
	for k := range 6 {
		for rank := range 3 {
			require.Equal(t, rank == k/2, o.castBy(rank, k), "c%d of rank %d", k, rank)
		}
	}
	require.False(t, p.recovers)
	require.False(t, p.yields)
	require.True(t, p.recovery.IsNone())

	p = plan("bcast/mcast-chain", schedule.Params{Ranks: 3, Root: 1, Chunks: 2}, 2, true)
	o = &op{plan: p, root: p.header.Root}
	require.True(t, o.castBy(1, 1))
	require.False(t, o.castBy(0, 0))
	require.True(t, p.recovers)
	require.Len(t, p.recovery.Ask, 2)
	p = plan("barrier/hsb-mcast", schedule.Params{Ranks: 3}, 2, false)
	o = &op{plan: p, root: p.header.Root}
	require.True(t, o.castBy(0, 0))
	require.False(t, o.castBy(1, 0))
}

// If all ranks multicast, long blocks are not multicast over a network, since they would overrun
// every link. Within a host, and from one rank alone, they are multicast.
func TestManyLongMulticastsAreLeftOut(t *testing.T) {
	const ranks = 4
	for _, c := range []struct {
		name  string
		bytes int // bytes of a block
		local int
		want  int
	}{
		{"allgather/mcast", flow.Flood / ranks, 1, 2},
		{"allgather/mcast", flow.Flood/ranks + 1, 1, 0},
		{"allgather/mcast", flow.Flood/ranks + 1, 0, 0},
		{"allgather/mcast", flow.Flood/ranks + 1, ranks, 2},
		{"bcast/mcast-chain", 2 * flow.Flood, 1, 2},
	} {
		net := &mcasts{}
		core := New(Config{
			Rank: 0, Size: ranks, Epoch: 1, Repair: 20e6, Stall: 250e6, PublishWindow: 1, Overlay: nowhere{},
			Caps: wire.Caps{Multicast: true, Direct: true, Datagram: 1400, Local: c.local},
		}, net)
		mem := InPlace(make([]byte, c.bytes))
		if c.name != "bcast/mcast-chain" {
			mem = Buffers{In: make([]byte, c.bytes), Out: make([]byte, ranks*c.bytes), Block: c.bytes}
		}
		core.Begin(planOf(t, c.name, schedule.Params{Ranks: ranks, Chunks: 2}, 0), mem)
		require.Equal(t, c.want, net.drain(), "%+v", c)
		require.NoError(t, core.Err())
	}
}
