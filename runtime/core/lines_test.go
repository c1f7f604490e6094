package core

import (
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/schedgen/schedgen/ir"
	"github.com/schedgen/schedgen/runtime/machine"
	"github.com/schedgen/schedgen/schedule"
)

// plansOf returns the plans of all ranks, of which those on one host reach each other.
func plansOf(t require.TestingT, name string, params schedule.Params, hosts []int) []*Plan {
	spec, err := schedule.New(name, params)
	require.NoError(t, err)
	h := spec.Header()
	var plans []*Plan
	for rank := range params.Ranks {
		program := spec.Program(rank)
		compiled, err := machine.Compile(&h, &program)
		require.NoError(t, err)
		p := NewPlan(&h, compiled, spec.Program(h.Root), 0)
		p.Shelve(rank, func(other int) bool { return other != rank && hosts[other] == hosts[rank] }, spec.Program)
		plans = append(plans, p)
	}
	return plans
}

// Who lays a chunk and who looks for it agree, however ranks lie on hosts: every chunk that stands
// in a window is looked for by those that it is laid for, and by no other, once.
func TestChunksStandWhereTheyAreLookedFor(t *testing.T) {
	var names []string
	for _, a := range schedule.Algorithms() {
		if a.Collective == schedule.Bcast {
			names = append(names, a.Name)
		}
	}
	laid := 0
	rapid.Check(t, func(t *rapid.T) {
		params := schedule.Params{Ranks: rapid.IntRange(1, 20).Draw(t, "ranks"), Chunks: rapid.IntRange(1, maxShelved+1).Draw(t, "chunks")}
		params.Root = rapid.IntRange(0, params.Ranks-1).Draw(t, "root")
		hosts := rapid.SliceOfN(rapid.IntRange(0, 2), params.Ranks, params.Ranks).Draw(t, "hosts")
		name := rapid.SampledFrom(names).Draw(t, "name")
		spec, err := schedule.New(name, params)
		if err != nil {
			return // parameters that the algorithm does not take
		}
		plans := plansOf(t, name, params, hosts)
		for _, p := range plans {
			require.Equal(t, plans[0].lines.known, p.lines.known)
			if params.Ranks > 1 {
				require.Equal(t, !spec.Header().Recovers && params.Chunks <= maxShelved, p.lines.known)
			}
		}
		for rank, p := range plans {
			for _, of := range p.lines.posts {
				laid++
				for _, to := range of.ranks {
					require.Equal(t, hosts[rank], hosts[to])
					looks := func(a Awaited) bool { return a.Rank == rank && a.slot == of.slot }
					require.True(t, slices.ContainsFunc(plans[to].lines.chunks, looks), "%s: %v of rank %d for %d", name, of.slot, rank, to)
				}
			}
			var seen []ir.Slot
			for _, a := range p.lines.chunks {
				require.NotContains(t, seen, a.slot)
				seen = append(seen, a.slot)
				lays := func(of post) bool { return of.slot == a.slot && slices.Contains(of.ranks, rank) }
				require.True(t, slices.ContainsFunc(plans[a.Rank].lines.posts, lays))
			}
		}
	})
	require.NotZero(t, laid)
}

// All chunks of a broadcast from one rank to all others of its host stand in its window.
func TestLinearBroadcastStandsInOneWindow(t *testing.T) {
	plans := plansOf(t, "bcast/linear", schedule.Params{Ranks: 5, Root: 2, Chunks: 3}, make([]int, 5))
	require.Len(t, plans[2].lines.posts, 3)
	require.Equal(t, []int{3, 4, 0, 1}, plans[2].lines.posts[0].ranks)
	require.Len(t, plans[0].lines.chunks, 3)
}
