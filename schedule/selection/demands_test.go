package selection_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/schedgen/schedgen/ir"
	"github.com/schedgen/schedgen/schedule"
	"github.com/schedgen/schedgen/schedule/selection"
)

// The built-in rules serve every demand on a fold, wherever the ranks are: the algorithm folds in the
// order of ranks, or along the one tree of the collective.
func TestEveryDemandOnAFoldIsServed(t *testing.T) {
	for _, row := range ir.Collectives() {
		if row.Inputs == nil || selection.Tree(row.Name) == "" {
			continue
		}
		for ranks := 1; ranks <= 17; ranks++ {
			for hosts := range ranks {
				for _, bytes := range []int{1, 2000, 20_000, 300_000, 1 << 20} {
					for demand := 1; demand < 4; demand++ {
						c := selection.Case{Collective: row.Name, Ranks: ranks, Bytes: bytes, Hosts: hosts, Ordered: demand&1 > 0, Reproducible: demand&2 > 0}
						d, ok := selection.Builtin().Of(c)
						require.True(t, ok, "%+v", c)
						spec, err := schedule.New(d.Rule.Algorithm, schedule.Params{Ranks: ranks, Degree: d.Rule.Params.Degree, Hosts: d.Hosts})
						require.NoError(t, err, "%+v", c)
						require.True(t, !c.Ordered || spec.RankOrder(), "%+v: %s", c, d.Rule.Algorithm)
						require.True(t, !c.Reproducible || spec.Tree() == selection.Tree(row.Name), "%+v: %s", c, d.Rule.Algorithm)
					}
				}
			}
		}
	}
}
