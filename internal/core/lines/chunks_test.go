package lines

import (
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	_ "github.com/schedgen/schedgen/internal/test/heavy"
	"github.com/schedgen/schedgen/ir"
	"github.com/schedgen/schedgen/schedule"
)

// layoutsOf returns the lines of all ranks; ranks on one host reach each other.
func layoutsOf(t require.TestingT, name string, params schedule.Params, hosts []int) (all []Layout) {
	spec, err := schedule.New(name, params)
	require.NoError(t, err)
	h := spec.Header()
	for rank := range params.Ranks {
		reaches := func(other int) bool { return other != rank && hosts[other] == hosts[rank] }
		l, _ := Chunks(&h, h.Folds() || spec.Program(rank).Values > 0, rank, reaches, spec.Program)
		all = append(all, l)
	}
	return all
}

// algorithms returns the collectives that move bytes and are not rootless, and the names of the
// algorithms of each.
func algorithms() (collectives []string, names map[string][]string) {
	names = map[string][]string{}
	for _, a := range schedule.Algorithms() {
		if row := a.Row(); row.Blocks != nil && !row.Published {
			if names[row.Name] == nil {
				collectives = append(collectives, row.Name)
			}
			names[row.Name] = append(names[row.Name], a.Name)
		}
	}
	return collectives, names
}

// Sender and receivers of a chunk agree on its line, however ranks lie on hosts: exactly the
// receivers that a chunk is laid for look for it in its line, once each.
func TestChunksStandWhereTheyAreLookedFor(t *testing.T) {
	collectives, names := algorithms()
	rapid.Check(t, func(t *rapid.T) {
		params := schedule.Params{Ranks: rapid.IntRange(1, 20).Draw(t, "ranks"), Chunks: rapid.IntRange(1, MaxChunks+1).Draw(t, "chunks")}
		hosts := rapid.SliceOfN(rapid.IntRange(0, 2), params.Ranks, params.Ranks).Draw(t, "hosts")
		collective := rapid.SampledFrom(collectives).Draw(t, "collective")
		name := rapid.SampledFrom(names[collective]).Draw(t, "name")
		if row, _ := ir.CollectiveNamed(collective); row.Rooted {
			params.Root = rapid.IntRange(0, params.Ranks-1).Draw(t, "root")
		}
		if _, err := schedule.New(name, params); err == nil { // else the algorithm does not take these parameters
			requireAgree(t, name, params, hosts)
		}
	})
}

// Ranks on one host lay chunks for each other in every collective in which they can. In the others
// only two ranks do, because otherwise all ranks get something of all.
func TestChunksAreLaid(t *testing.T) {
	collectives, names := algorithms()
	for _, collective := range collectives {
		row, _ := ir.CollectiveNamed(collective)
		n, ranks := 0, 5
		if row.Everywhere(3, 0) && !row.Rooted {
			ranks = 2
		}
		for _, name := range names[collective] {
			if params := (schedule.Params{Ranks: ranks, Chunks: 1}); row.Inputs == nil { // some messages have several partial results
				n += requireAgree(t, name, params, make([]int, ranks))
			}
		}
		require.Equal(t, row.Inputs == nil, n > 0, collective)
	}
}

// requireAgree checks the lines of all ranks against each other and returns how many chunks are laid.
func requireAgree(t require.TestingT, name string, params schedule.Params, hosts []int) (n int) {
	spec, err := schedule.New(name, params)
	require.NoError(t, err)
	all := layoutsOf(t, name, params, hosts)
	for rank, l := range all {
		require.LessOrEqual(t, l.Shelved, MaxChunks)
		require.LessOrEqual(t, len(l.Posts), l.Shelved)
		for other, of := range all {
			if hosts[rank] == hosts[other] {
				require.Equal(t, of.Known, l.Known)
				require.Equal(t, of.Shelved, l.Shelved)
			}
		}
		require.False(t, l.Known && spec.Header().Recovers && params.Ranks > 1)
	}
	for rank, l := range all {
		for i, of := range l.Posts {
			n++
			for k, to := range of.Ranks {
				require.Equal(t, hosts[rank], hosts[to])
				looks := func(a Awaited) bool { return a.Rank == rank && a.Slot == of.Sets[k] && a.Line == i }
				require.True(t, slices.ContainsFunc(all[to].Chunks, looks), "%s: %v of rank %d for %d", name, of.Slot, rank, to)
			}
		}
		var seen []ir.Slot
		for _, a := range l.Chunks {
			require.NotContains(t, seen, a.Slot)
			seen = append(seen, a.Slot)
			lays := func(of Post) bool {
				k := slices.Index(of.Ranks, rank)
				return k >= 0 && of.Sets[k] == a.Slot
			}
			require.True(t, slices.ContainsFunc(all[a.Rank].Posts, lays))
		}
	}
	return n
}

// All chunks of a linear broadcast on one host go through the root's window.
func TestLinearBroadcastStandsInOneWindow(t *testing.T) {
	all := layoutsOf(t, "bcast/linear", schedule.Params{Ranks: 5, Root: 2, Chunks: 3}, make([]int, 5))
	require.Len(t, all[2].Posts, 3)
	require.Equal(t, []int{3, 4, 0, 1}, all[2].Posts[0].Ranks)
	require.Len(t, all[0].Chunks, 3)
}

// A block that every rank puts to one other rank, or to all, uses one line of its window, however
// many ranks there are.
func TestOwnBlocksStandInOneLine(t *testing.T) {
	for _, l := range layoutsOf(t, "gather/linear", schedule.Params{Ranks: 40, Root: 3}, make([]int, 40)) {
		require.True(t, l.Known)
		require.Equal(t, 1, l.Shelved)
	}
	for _, l := range layoutsOf(t, "alltoall/linear", schedule.Params{Ranks: MaxChunks + 2}, make([]int, MaxChunks+2)) {
		require.False(t, l.Known, "a rank would lay more than there are lines")
	}
}
