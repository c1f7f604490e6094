package sim

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/schedgen/schedgen/runtime/core"
)

// leavers is a scenario in which ranks close as soon as their calls have returned, so that those that wait for a
// silent one may be left without a neighbour. A rank that says goodbye to the silent one gives no sign of life while it
// lingers, up to four seconds: ranks are lost later than that.
func leavers(ranks int, faults []Fault, ops ...Op) *Scenario {
	sc := hush(ranks, faults, ops...)
	sc.Close, sc.Comm.Silence = true, 6*Second
	return sc
}

// A rank dies on its way to tell others which ranks are lost, and those that know leave: they tell it with their goodbyes.
func TestWhoLeavesTellsWhoIsLost(t *testing.T) {
	faults := []Fault{{Kind: FaultCrash, Rank: 1, From: 100 * Microsecond}, {Kind: FaultCrash, Rank: 2, From: 500 * Microsecond}}
	r := runs(t, leavers(18, faults, Op{Kind: "alltoall", Algorithm: "alltoall/linear", Bytes: 1000}))
	named := 0
	for _, c := range r.Calls {
		var lost *core.LostError
		if c.Err != nil && c.Rank != 2 {
			require.ErrorAs(t, c.Err, &lost)
			require.Equal(t, []int{1}, lost.Ranks, "rank %d", c.Rank)
			named++
		}
	}
	require.Equal(t, 16, named)
}

// Who has left without a word to this rank takes no connections, and is not called lost when those that are left agree.
func TestWhoHasLeftIsNotCalledLost(t *testing.T) {
	r := runs(t, leavers(19, []Fault{{Kind: FaultSilent, Rank: 1}}, Op{Kind: OpBcast, Algorithm: "bcast/mcast-acktree", Bytes: 1000}))
	for rank, named := range r.lossesOf(t, []int{1}) {
		require.Subset(t, []int{1}, named, "rank %d", rank)
	}
}
