package fixpoint_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/schedgen/schedgen/internal/ir/fixpoint"
)

// A system that is built again has nothing of the one before.
func TestReset(t *testing.T) {
	y := fixpoint.Unnamed()
	for _, rules := range []int{3, 1} {
		y.Reset()
		y.AddRank(0, nil, []int32{1})
		for range rules {
			y.AddRule(0)
			y.Wait(0)
			y.Add(fixpoint.Set{Slot: 1, To: fixpoint.Here})
			y.EndRule()
		}
		y.Finish(2)
		require.Equal(t, 1, y.Ranks())
		require.Equal(t, 2, y.Slots())
		require.Equal(t, rules, y.Rules())
		require.Len(t, y.Sets(), rules)
		require.Len(t, y.Waiters(0), rules)
		require.Equal(t, []int32{1}, y.Done(0))
	}
}
