package fixpoint_test

import (
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/schedgen/schedgen/internal/ir/fixpoint"
	"github.com/schedgen/schedgen/internal/test/heavy"
	"github.com/schedgen/schedgen/ir"
)

func run(t *testing.T, s *ir.Schedule, m fixpoint.Model) *fixpoint.Result {
	t.Helper()
	res, err := fixpoint.Run(s, m)
	require.NoError(t, err)
	return res
}

// TestACallReturnsOnceItHasSent runs a chain with a multicast. All ranks have the chunk after round
// 1 and pass it on in round 2.
func TestACallReturnsOnceItHasSent(t *testing.T) {
	s := bcast(
		[]ir.Rule{rule(when(ir.Enter), ir.McastOf(c0), ir.PutTo(c0, 1))},
		[]ir.Rule{rule(when(c0), ir.PutTo(c0, 2))},
		nil)
	s.Programs[0].Done = when(ir.Enter)
	res := run(t, s, fixpoint.Model{})
	require.Equal(t, []int{1, 2, 1}, res.Returns())
	require.Equal(t, 2, res.Rounds())

	s.Programs[1].Rules[0].Do = nil
	require.Equal(t, []int{1, 1, 1}, run(t, s, fixpoint.Model{}).Returns(), "a rule that sends nothing")
}

func TestRankThatWaitsForEverNeverReturns(t *testing.T) {
	s := bcast([]ir.Rule{rule(when(ir.Enter), ir.PutTo(c0, 1))}, nil, nil)
	res := run(t, s, fixpoint.Model{})
	require.Equal(t, []int{1, 1, -1}, res.Returns())
	require.Equal(t, 1, res.Rounds())
	res = run(t, s, fixpoint.Model{Without: []fixpoint.Place{{Rank: 1, Slot: ir.Enter}}})
	require.Equal(t, []int{1, -1, -1}, res.Returns(), "who does not enter has no call that could return")
	for r := range s.Programs {
		s.Programs[r].Done = when(s1)
	}
	res = run(t, s, fixpoint.Model{})
	require.Equal(t, []int{-1, -1, -1}, res.Returns())
	require.Zero(t, res.Rounds())
}

// TestAnswersDoNotHoldACall lets rank 1, which lacks the chunk, ask rank 2.
func TestAnswersDoNotHoldACall(t *testing.T) {
	ask := ir.Rule{When: when(ir.Enter), Unless: c0, Do: []ir.Action{ir.PutTo(s0, 2)}}
	s := bcast(
		[]ir.Rule{rule(when(ir.Enter), ir.PutTo(c0, 2))},
		[]ir.Rule{ask},
		[]ir.Rule{rule(when(c0, s0), ir.PutTo(c0, 1), ir.PutTo(s1, 0)), rule(when(c0), ir.PutTo(s0, 0))})
	res := run(t, s, fixpoint.Model{Repairs: true})
	require.Equal(t, 4, res.Slot(1, c0))
	require.Equal(t, []int{1, 4, 2}, res.Returns())
	require.Equal(t, 4, res.Rounds())
	require.Equal(t, []bool{false, true, true, false}, res.OnRequest())
}

// TestReturnsHoldInRandomSchedules compares Returns with its definition, rule by rule.
func TestReturnsHoldInRandomSchedules(t *testing.T) {
	for seed := range heavy.Seeds(2000) {
		s := randomSchedule(rand.New(rand.NewPCG(seed, 2)))
		res, last := run(t, s, fixpoint.Model{}), 0
		for r, at := range res.Returns() {
			want, never := 0, false
			for i, rule := range s.Programs[r].Rules {
				if len(rule.Do) > 0 {
					want = max(want, res.Rule(r, i)+1)
				}
			}
			for _, slot := range s.Programs[r].Done {
				want, never = max(want, res.Slot(r, slot)), never || res.Slot(r, slot) < 0
			}
			if never {
				want = -1
			}
			require.Equal(t, want, at, "seed %d rank %d", seed, r)
			last = max(last, at)
		}
		require.Equal(t, last, res.Rounds())
	}
}
