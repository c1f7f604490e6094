package core

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/schedgen/schedgen/runtime/machine"
	"github.com/schedgen/schedgen/schedule"
)

// A multicast counts only from the rank that holds the chunk: the root, or where there is none the
// rank of the block. Where several multicast, what a schedule says of recovery is left to its rules.
func TestWhoMulticasts(t *testing.T) {
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
