package verify_test

import (
	"bytes"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/schedgen/schedgen/internal/ir/fixpoint"
	"github.com/schedgen/schedgen/ir"
	"github.com/schedgen/schedgen/schedule"
	"github.com/schedgen/schedgen/verify"
)

// TestWithoutRecovery reads the schedule of an algorithm with recovery from a schedgen/1 document,
// which has none. Everything else is proved. The check recovery applies if the first line says
// recovery, even if no rank has any. The algorithm's name does not matter.
func TestWithoutRecovery(t *testing.T) {
	s := generate(t, "bcast/mcast-acktree", schedule.Params{Ranks: 9, Hosts: 4, Chunks: 2})
	for r := range s.Programs {
		s.Programs[r].Recovery = ir.Recovery{}
	}
	require.ErrorContains(t, failure(t, s, "recovery"), "has nobody to ask")
	s.Recovers = false
	var document bytes.Buffer
	require.NoError(t, ir.WriteJSON(&document, s))
	require.Contains(t, document.String(), `"format":"schedgen/1"`)
	s, err := ir.ParseJSON(&document)
	require.NoError(t, err)
	report := proved(t, s, "schedgen/1")
	last := report.Results[len(report.Results)-1]
	require.Equal(t, verify.Result{Check: "recovery", Note: "made without recovery: rules alone repair"}, last)
}

// TestRecoveryIsNotNeeded checks that a broadcast in which plain puts bring everything needs no
// recovery, but may claim to have it.
func TestRecoveryIsNotNeeded(t *testing.T) {
	s := generate(t, "bcast/mcast-chain", schedule.Params{Ranks: 7, Chunks: 3})
	s.Recovers = true
	proved(t, s, "nobody lacks anything")
	s.Programs[3].Ask = []int32{4}
	s.Programs[4].Ask = []int32{3}
	proved(t, s, "both are put every chunk")
}

func TestRecoveryFailureHoldsTheCircle(t *testing.T) {
	s := generate(t, "bcast/mcast-acktree", schedule.Params{Ranks: 8})
	for r := range s.Programs {
		s.Programs[r].Ask = []int32{int32((r + 1) % 8)}
	}
	s.Programs[0].Ask, s.Programs[7].Ask = nil, []int32{1}
	f := failure(t, s, "recovery")
	require.Equal(t, "recovery: ranks that lack c0 after a lost multicast ask each other in a circle: "+
		"rank 1 asks rank 2 asks rank 3 asks rank 4 asks 3 more asks rank 1", f.Error())
	require.Equal(t, []int{1, 2, 3, 4, 5, 6, 7}, f.Ranks)
	require.Equal(t, verify.Step{Place: verify.Place{Rank: 7, Slot: ir.Chunk(0)}, From: 1}, f.Path[6])
	require.Equal(t, fixpoint.Model{LoseMcast: true}, f.World)
}
