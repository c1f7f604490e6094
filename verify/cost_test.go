package verify_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/schedgen/schedgen/ir"
	"github.com/schedgen/schedgen/schedule"
	"github.com/schedgen/schedgen/verify"
)

func TestCostByRank(t *testing.T) {
	for name, want := range map[string]struct {
		cost       verify.Cost
		root, last verify.RankCost
	}{
		"bcast/mcast-chain": {
			verify.Cost{Rounds: 2, Puts: 6, Chunks: 6, Mcasts: 2, Messages: 8, Bytes: 4, MaxOut: 1, MaxIn: 1},
			verify.RankCost{Sent: 4, Out: 1, BytesOut: 2},
			verify.RankCost{Received: 4, In: 1, BytesIn: 2}},
		"bcast/mcast-acktree": {
			verify.Cost{Rounds: 3, Mcasts: 2, Signals: 3, Messages: 5, Bytes: 1, MaxOut: 1, MaxIn: 2},
			verify.RankCost{Sent: 2, Received: 2, In: 2, BytesOut: 1},
			verify.RankCost{Sent: 1, Received: 2, Out: 1, BytesIn: 1}},
		"bcast/chain": {
			verify.Cost{Rounds: 3, Puts: 6, Chunks: 6, Messages: 6, Bytes: 3, MaxOut: 1, MaxIn: 1},
			verify.RankCost{Sent: 2, Out: 1, BytesOut: 1},
			verify.RankCost{Received: 2, In: 1, BytesIn: 1}},
	} {
		cost, ranks, err := verify.CostByRank(generate(t, name, schedule.Params{Ranks: 4, Chunks: 2}))
		require.NoError(t, err)
		require.Equal(t, want.cost, cost, name)
		require.Equal(t, want.root, ranks[0], name)
		require.Equal(t, want.last, ranks[3], name)
	}
}

func TestCostOfBarrierHasNoBytes(t *testing.T) {
	cost, err := verify.CostOf(generate(t, "barrier/dissemination", schedule.Params{Ranks: 9, Degree: 3}))
	require.NoError(t, err)
	require.Equal(t, verify.Cost{Rounds: 2, Signals: 36, Messages: 36, MaxOut: 4, MaxIn: 4}, cost)
}

func TestCostOfNoSchedule(t *testing.T) {
	s := generate(t, "bcast/chain", schedule.Params{Ranks: 3})
	s.Programs[1].Rules[0].Do = []ir.Action{ir.PutTo(ir.Chunk(0), 7)}
	_, _, err := verify.CostByRank(s)
	require.ErrorContains(t, err, "cost: ")
}
