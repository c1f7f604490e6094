package selection_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/schedgen/schedgen/internal/heavy"
	"github.com/schedgen/schedgen/ir"
	"github.com/schedgen/schedgen/schedule"
	"github.com/schedgen/schedgen/schedule/selection"
	"github.com/schedgen/schedgen/sim"
)

// TestBuiltinCoversAllCollectives checks that every collective of the table has an algorithm in
// every case, and that New accepts the built-in rules.
func TestBuiltinCoversAllCollectives(t *testing.T) {
	table, err := selection.New(selection.Builtin().List())
	require.NoError(t, err)
	require.Zero(t, table.Digest())
	for _, row := range ir.Collectives() {
		for _, ranks := range []int{1, 2, 3, 7, 8, 9, 100, schedule.MaxRanks} {
			_, ok := table.Of(selection.Case{Collective: row.Name, Ranks: ranks, Bytes: 1 << 20})
			require.True(t, ok, row.Name)
		}
	}
}

// TestBuiltinOfBlocks checks that the rules for blocks are within 1.3 times the best algorithm in
// the model that they follow.
func TestBuiltinOfBlocks(t *testing.T) {
	for _, collective := range []string{"scatter", "gather", "allgather", "alltoall"} {
		for _, ranks := range heavy.Or([]int{2, 5, 8, 9}, []int{2, 3, 5, 8, 9, 16, 32}) {
			for _, n := range []int{0, 1, 64, 200, 1000, 8 << 10, 64 << 10} {
				c := selection.Case{Collective: collective, Ranks: ranks, Bytes: n, Place: selection.OneEach}
				d, ok := selection.Builtin().Of(c)
				require.True(t, ok)
				took, err := selection.Cost(d.Rule.Algorithm, schedule.Params{Ranks: ranks}, c, sim.DefaultLogGP())
				require.NoError(t, err)
				best, err := selection.Choose(c, sim.DefaultLogGP())
				require.NoError(t, err)
				require.LessOrEqual(t, float64(took), 1.3*float64(best.Time), "%v: %s, best is %v", &c, d.Rule.Algorithm, best)
			}
		}
	}
}
