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

// plansOf returns the plans of all ranks; ranks on one host reach each other.
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

// Sender and receivers of a chunk agree on its line, however ranks lie on hosts: exactly the
// receivers that a chunk is laid for look for it in its line, once each.
func TestChunksStandWhereTheyAreLookedFor(t *testing.T) {
	names := map[string][]string{}
	var collectives []string
	for _, a := range schedule.Algorithms() {
		if row := a.Row(); row.Blocks != nil && !row.Published {
			if names[row.Name] == nil {
				collectives = append(collectives, row.Name)
			}
			names[row.Name] = append(names[row.Name], a.Name)
		}
	}
	laid := map[string]int{}
	rapid.Check(t, func(t *rapid.T) {
		params := schedule.Params{Ranks: rapid.IntRange(1, 20).Draw(t, "ranks"), Chunks: rapid.IntRange(1, maxShelved+1).Draw(t, "chunks")}
		hosts := rapid.SliceOfN(rapid.IntRange(0, 2), params.Ranks, params.Ranks).Draw(t, "hosts")
		collective := rapid.SampledFrom(collectives).Draw(t, "collective")
		name := rapid.SampledFrom(names[collective]).Draw(t, "name")
		if row, _ := ir.CollectiveNamed(collective); row.Rooted {
			params.Root = rapid.IntRange(0, params.Ranks-1).Draw(t, "root")
		}
		spec, err := schedule.New(name, params)
		if err != nil {
			return // the algorithm does not take these parameters
		}
		plans := plansOf(t, name, params, hosts)
		for rank, p := range plans {
			require.LessOrEqual(t, p.lines.shelved, maxShelved)
			require.LessOrEqual(t, len(p.lines.posts), p.lines.shelved)
			for other, of := range plans {
				if hosts[rank] == hosts[other] {
					require.Equal(t, of.lines.known, p.lines.known)
					require.Equal(t, of.lines.shelved, p.lines.shelved)
				}
			}
			require.False(t, p.lines.known && spec.Header().Recovers && params.Ranks > 1)
		}
		for rank, p := range plans {
			for i, of := range p.lines.posts {
				laid[collective]++
				for k, to := range of.ranks {
					require.Equal(t, hosts[rank], hosts[to])
					looks := func(a Awaited) bool { return a.Rank == rank && a.slot == of.sets[k] && a.Line == i }
					require.True(t, slices.ContainsFunc(plans[to].lines.chunks, looks), "%s: %v of rank %d for %d", name, of.slot, rank, to)
				}
			}
			var seen []ir.Slot
			for _, a := range p.lines.chunks {
				require.NotContains(t, seen, a.slot)
				seen = append(seen, a.slot)
				lays := func(of post) bool {
					k := slices.Index(of.ranks, rank)
					return k >= 0 && of.sets[k] == a.slot
				}
				require.True(t, slices.ContainsFunc(plans[a.Rank].lines.posts, lays))
			}
		}
	})
	for _, row := range ir.Collectives() {
		switch {
		case row.Inputs != nil: // some messages have several partial results
		case row.Blocks == nil || row.Published:
			require.Zero(t, laid[row.Name], row.Name)
		case row.Rooted || !row.Everywhere(3, 0): // the others lay only between two ranks, which are seldom drawn
			require.Positive(t, laid[row.Name], row.Name)
		}
	}
}

// All chunks of a linear broadcast on one host go through the root's window.
func TestLinearBroadcastStandsInOneWindow(t *testing.T) {
	plans := plansOf(t, "bcast/linear", schedule.Params{Ranks: 5, Root: 2, Chunks: 3}, make([]int, 5))
	require.Len(t, plans[2].lines.posts, 3)
	require.Equal(t, []int{3, 4, 0, 1}, plans[2].lines.posts[0].ranks)
	require.Len(t, plans[0].lines.chunks, 3)
}

// A block that every rank puts to one other rank, or to all, uses one line of its window, however
// many ranks there are.
func TestOwnBlocksStandInOneLine(t *testing.T) {
	for _, p := range plansOf(t, "gather/linear", schedule.Params{Ranks: 40, Root: 3}, make([]int, 40)) {
		require.True(t, p.lines.known)
		require.Equal(t, 1, p.lines.shelved)
	}
	for _, p := range plansOf(t, "alltoall/linear", schedule.Params{Ranks: maxShelved + 2}, make([]int, maxShelved+2)) {
		require.False(t, p.lines.known, "a rank would lay more than there are lines")
	}
}
