package selection_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/schedgen/schedgen/ir"
	"github.com/schedgen/schedgen/schedule"
	"github.com/schedgen/schedgen/schedule/selection"
)

// The choice of the rules comes first, no algorithm comes twice, and all serve the case. Without
// exact folds, all have the first one's tree.
func TestContenders(t *testing.T) {
	several := map[string]bool{}
	for _, row := range ir.Collectives() {
		for _, c := range []selection.Case{
			{Ranks: 2}, {Ranks: 8, Place: selection.OneHost}, {Ranks: 8, Place: selection.OneHost, Memory: true, Multicast: true},
			{Ranks: 12, Hosts: 3}, {Ranks: 7, Place: selection.OneEach}, {Ranks: 1000, Place: selection.OneEach, Multicast: true},
		} {
			for _, bytes := range []int{0, 1, 5000, 1 << 20, 1 << 40} {
				for _, exact := range []bool{false, true} {
					c.Collective, c.Bytes = row.Name, bytes
					all := selection.Builtin().Contenders(c, exact, 4)
					require.NotEmpty(t, all)
					require.LessOrEqual(t, len(all), 4)
					first, _ := selection.Builtin().Of(c)
					require.Equal(t, first, all[0])
					several[row.Name] = several[row.Name] || len(all) > 1
					names, trees := map[string]bool{}, map[string]bool{}
					for _, d := range all {
						spec, err := schedule.New(d.Rule.Algorithm, schedule.Params{Ranks: c.Ranks, Degree: d.Rule.Params.Degree, Hosts: d.Hosts})
						require.NoError(t, err)
						alg := spec.Algorithm()
						require.True(t, c.Multicast || !alg.Multicasts(), d.Rule.Algorithm)
						names[d.Rule.Algorithm], trees[spec.Tree()] = true, true
					}
					require.Len(t, names, len(all))
					if row.Inputs != nil && !exact {
						require.Len(t, trees, 1, "%v", &c)
						require.True(t, len(all) == 1 || !trees[""], "%v", &c)
					}
				}
			}
		}
	}
	for _, name := range []string{"barrier", "bcast", "allgather", "alltoall", "allreduce", "reduce", "reduce-scatter", "scan"} {
		require.True(t, several[name], name)
	}
}

// Rules over a table replace what they cover. The text of the result is a table, too.
func TestOver(t *testing.T) {
	base, err := selection.New([]selection.Rule{
		{Collective: "bcast", Ranks: selection.Range{From: 4, To: 5}, Algorithm: "bcast/chain", Reason: "as measured"},
		{Collective: "bcast", Algorithm: "bcast/binomial"},
	})
	require.NoError(t, err)
	rules := []selection.Rule{
		{Collective: "bcast", Ranks: selection.Range{From: 4, To: 5}, Algorithm: "bcast/linear", Reason: "learned"},
		{Collective: "barrier", Ranks: selection.Range{From: 4, To: 5}, Algorithm: "barrier/exchange", Reason: "learned"},
		{Collective: "barrier", Ranks: selection.Range{From: 4, To: 5}, Algorithm: "barrier/dissemination", Reason: "too late"},
	}
	table, err := selection.Over(rules, base)
	require.NoError(t, err)
	again, err := selection.Parse(table.Text())
	require.NoError(t, err)
	require.Equal(t, table.Digest(), again.Digest())
	require.Len(t, table.List(), 4)
	for ranks, want := range map[int][2]string{4: {"bcast/linear", "barrier/exchange"}, 5: {"bcast/binomial", "barrier/hsb"}} {
		for i, collective := range []string{"bcast", "barrier"} {
			d, ok := table.Of(selection.Case{Collective: collective, Ranks: ranks})
			require.True(t, ok)
			require.Equal(t, want[i], d.Rule.Algorithm)
		}
	}
	none, err := selection.Over(nil, nil)
	require.NoError(t, err)
	require.Empty(t, none.List())
}
