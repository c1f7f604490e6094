package sim

import (
	"errors"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/schedgen/schedgen/runtime/core"
)

// knowing says which ranks' calls have failed since a rank is dead.
func (r *Result) knowing() []bool {
	know := make([]bool, len(r.Cores))
	for _, c := range r.Calls {
		know[c.Rank] = errors.Is(c.Err, core.ErrPeerLost)
	}
	return know
}

// Whoever is dead can't pass on that another is: those that it would have told
// learn it all the same. Only who puts something to a dead rank finds it so.
func TestDeathIsLearntByAll(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		size := rapid.IntRange(2, 20).Draw(rt, "ranks")
		dead := rapid.SliceOfNDistinct(rapid.IntRange(0, size-1), 1, min(3, size-1), rapid.ID).Draw(rt, "dead")
		name := rapid.SampledFrom(algorithms("barrier")).Draw(rt, "barrier")
		sc := still(size, nil, Op{Kind: OpBarrier, Algorithm: name})
		sc.Net.GiveUp = Millisecond
		for _, rank := range dead {
			sc.Faults = append(sc.Faults, Fault{Kind: FaultSilent, Rank: rank})
		}
		for rank, knows := range runs(rt, sc).knowing() {
			require.Equal(rt, !slices.Contains(dead, rank), knows, "rank %d", rank)
		}
	})
}

// Who finds a rank dead, here rank 0 alone, to whom it has a connection, tells
// those whom the dead would have told, at once.
func TestDeathIsToldAroundTheDead(t *testing.T) {
	for _, dead := range []int{1, 2, 4, 10} {
		sc := still(11, []Fault{{Kind: FaultCrash, Rank: dead}}, Op{Kind: OpBarrier, Algorithm: "barrier/hsb"})
		sc.Comm.Stall = 3600 * Second
		r := runs(t, sc)
		require.Less(t, r.End, Second)
		for rank, knows := range r.knowing() {
			require.Equal(t, rank != dead, knows, "rank %d", rank)
		}
	}
}

// A rank that nobody can connect to is given a while to be heard of.
func TestUnreachableRankIsLostAfterAWhile(t *testing.T) {
	faults := []Fault{{Kind: FaultLate, Rank: 1, Until: Second}, {Kind: FaultCrash, Rank: 1}, {Kind: FaultLate, Rank: 0, Until: Microsecond}}
	r := runs(t, still(2, faults, Op{Kind: OpBarrier, Algorithm: "barrier/dissemination"})) // rank 0 sends first
	require.ErrorIs(t, r.Calls[0].Err, core.ErrPeerLost)
	require.Equal(t, Second+Microsecond, r.returned()[0])
}

// Ranks that wait for messages, and have sent nothing to anybody, learn of a death.
func TestDeathIsLearntByWhoWaitsForMessages(t *testing.T) {
	for _, dead := range []int{0, 1, 5, 10} {
		faults := []Fault{{Kind: FaultLate, Rank: dead, Until: Second}, {Kind: FaultCrash, Rank: dead, From: Millisecond}}
		r := runs(t, still(11, faults, Op{Kind: OpPublish, Root: dead, Count: 1}, Op{Kind: OpTake}))
		for rank, knows := range r.knowing() {
			require.Equal(t, rank != dead, knows, "rank %d", rank)
		}
	}
}
