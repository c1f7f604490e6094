package fixpoint_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/schedgen/schedgen/internal/ir/fixpoint"
	"github.com/schedgen/schedgen/ir"
)

// TestWhyNever looks for the nearest circle, although the first slot that a rule lacks is on none,
// and for the slot that nobody puts.
func TestWhyNever(t *testing.T) {
	s := bcast(
		[]ir.Rule{rule(when(s0, s1), ir.PutTo(s0, 1))},
		[]ir.Rule{rule(when(s0), ir.PutTo(s1, 0))},
		[]ir.Rule{rule(when(s0), ir.PutTo(s0, 0))})
	res, err := fixpoint.Run(s, fixpoint.Model{})
	require.NoError(t, err)
	why := func(rank int, slot ir.Slot) (path []fixpoint.Place, cycle bool) {
		slots, cycle := res.WhyNever(res.Layout().Slot(rank, slot))
		for _, id := range slots {
			path = append(path, res.Layout().PlaceOf(id))
		}
		return path, cycle
	}
	path, cycle := why(1, s0)
	require.True(t, cycle)
	require.Equal(t, []fixpoint.Place{{Rank: 1, Slot: s0}, {Rank: 0, Slot: s1}, {Rank: 1, Slot: s0}}, path)
	path, cycle = why(0, s0)
	require.False(t, cycle)
	require.Equal(t, []fixpoint.Place{{Rank: 0, Slot: s0}, {Rank: 2, Slot: s0}}, path)
}

// A slot that waits for itself is a circle of its own.
func TestWhyNeverOfItself(t *testing.T) {
	s := bcast([]ir.Rule{rule(when(s1), ir.PutTo(s0, 0)), rule(when(s1), ir.PutTo(s1, 0))})
	res, err := fixpoint.Run(s, fixpoint.Model{})
	require.NoError(t, err)
	path, cycle := res.WhyNever(res.Layout().Slot(0, s0))
	require.True(t, cycle)
	id := int32(res.Layout().Slot(0, s1))
	require.Len(t, path, 2)
	require.EqualValues(t, []any{id, id}, []any{int32(path[0]), int32(path[1])})
}
