package grid_test

import (
	"fmt"
	"math"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/schedgen/schedgen/internal/model/fit"
	"github.com/schedgen/schedgen/internal/model/grid"
	_ "github.com/schedgen/schedgen/internal/test/heavy"
	"github.com/schedgen/schedgen/schedule"
	"github.com/schedgen/schedgen/schedule/selection"
)

// made are choices of broadcasts without multicast. For short messages the built-in rules choose
// only the first of them.
var made = []grid.Choice{
	{Algorithm: "bcast/binomial"}, {Algorithm: "bcast/linear"},
	{Algorithm: "bcast/chain", Params: selection.Params{Chunk: 4096}}, {Algorithm: "bcast/binomial-doubling", Params: selection.Params{Chunks: 1}},
}

// TestRulesAreNeverWorse checks, for any times, that at each point of the grid the rules choose
// something better than the built-in choice, as far as intervals show, or leave the point to the
// built-in rules. A file of the rules must be readable.
func TestRulesAreNeverWorse(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		g := grid.Grid{Where: selection.Case{Collective: schedule.Bcast, Place: selection.OneEach}}
		for r, n := 2, rapid.IntRange(1, 5).Draw(t, "ranks"); len(g.Ranks) < n; r += rapid.IntRange(1, 9).Draw(t, "step") {
			g.Ranks = append(g.Ranks, r)
		}
		for b, n := 1, rapid.IntRange(1, 6).Draw(t, "sizes"); len(g.Sizes) < n; b += rapid.IntRange(1, 999).Draw(t, "step") {
			g.Sizes = append(g.Sizes, b)
		}
		cells := map[selection.Case]grid.Cell{}
		rules, err := g.Rules(func(c selection.Case, _ []grid.Choice) (grid.Cell, error) {
			cell := grid.Cell{How: grid.How(rapid.IntRange(0, 2).Draw(t, "how"))}
			for _, choice := range made {
				v := rapid.Float64Range(1, 100).Draw(t, "time")
				cell.Candidates = append(cell.Candidates, grid.Candidate{Choice: choice, Time: fit.Interval{Value: v, Low: 0.9 * v, High: 1.1 * v}})
			}
			cells[c] = cell
			return cell, nil
		})
		require.NoError(t, err)
		table, err := grid.Table(rules)
		require.NoError(t, err)
		table, err = selection.Parse(table.Text())
		require.NoError(t, err)
		for c, cell := range cells {
			d, ok := table.Of(c)
			require.True(t, ok)
			base := cell.Candidates[0].Time
			if !d.Own {
				continue
			}
			require.NotEqual(t, grid.Unknown, cell.How)
			chosen := timeOf(t, &cell, d.Rule)
			require.Less(t, chosen.High, base.Low)
			require.Contains(t, d.Rule.Reason, cell.How.String()+": takes ")
			require.Contains(t, d.Rule.Reason, " % less than the built-in choice, bcast/binomial")
			for _, other := range cell.Candidates {
				require.True(t, chosen.Low <= other.Time.High || chosen.Value <= 1.03*other.Time.Value, "%v is chosen, not %v", chosen, other)
			}
		}
		for _, outside := range []selection.Case{
			with(g.Where, g.Ranks[len(g.Ranks)-1]+1, g.Sizes[0]), with(g.Where, g.Ranks[0], g.Sizes[len(g.Sizes)-1]+1), with(g.Where, 1, 1),
			{Collective: schedule.Bcast, Ranks: g.Ranks[0], Bytes: g.Sizes[0], Place: selection.OneHost},
			{Collective: schedule.Bcast, Ranks: g.Ranks[0], Bytes: g.Sizes[0], Place: selection.OneEach, Multicast: true},
		} {
			d, _ := table.Of(outside)
			require.False(t, d.Own, "%v", outside)
		}
	})
}

func with(c selection.Case, ranks, bytes int) selection.Case {
	c.Ranks, c.Bytes = ranks, bytes
	return c
}

func timeOf(t require.TestingT, cell *grid.Cell, r *selection.Rule) fit.Interval {
	for _, c := range cell.Candidates {
		if c.Algorithm == r.Algorithm && c.Params == r.Params {
			return c.Time
		}
	}
	require.Fail(t, "no candidate", "%v", r)
	return fit.Interval{}
}

// fixed makes rules of a grid in whose cells the second choice has the given time and all others
// have 100.
func fixed(g *grid.Grid, how grid.How, second func(ranks, bytes int) float64) ([]selection.Rule, error) {
	return g.Rules(func(c selection.Case, _ []grid.Choice) (grid.Cell, error) {
		cell := grid.Cell{How: how}
		for i, choice := range made {
			v := 100.0
			if i == 1 {
				v = second(c.Ranks, c.Bytes)
			}
			cell.Candidates = append(cell.Candidates, grid.Candidate{Choice: choice, Time: fit.Exactly(v)})
		}
		return cell, nil
	})
}

// TestNeighboursShareARule checks that neighbours with the same choice share a rule whose reason
// states the range.
func TestNeighboursShareARule(t *testing.T) {
	g := grid.Grid{Where: selection.Case{Collective: schedule.Bcast, Place: selection.OneHost}, Ranks: []int{2, 4, 8, 16}, Sizes: []int{1, 100, 10_000, 1_000_000}}
	rules, err := fixed(&g, grid.Measured, func(ranks, bytes int) float64 {
		switch {
		case ranks <= 8 && bytes <= 100:
			return float64(50 + ranks)
		case ranks == 16 && bytes == 1_000_000:
			return 10
		}
		return 97 // not worth a rule
	})
	require.NoError(t, err)
	table, err := grid.Table(rules)
	require.NoError(t, err)
	require.Equal(t, `{"format": "schedgen-rules/1",
 "rules": [
  {"collective":"bcast","ranks":{"min":2,"max":11},"bytes":{"max":999},"place":"one-host","multicast":false,"memory":false,"algorithm":"bcast/linear","reason":"measured: takes 42 to 48 % less than the built-in choice, bcast/binomial"},
  {"collective":"bcast","ranks":{"min":12,"max":16},"bytes":{"min":100000,"max":1000000},"place":"one-host","multicast":false,"memory":false,"algorithm":"bcast/linear","reason":"measured: takes 90 % less than the built-in choice, bcast/binomial"},
  {"collective":"bcast","algorithm":"built-in","reason":"nothing better is known"}
]}
`, string(table.Text()))
	rules, err = fixed(&g, grid.Unknown, func(int, int) float64 { return 1 })
	require.NoError(t, err)
	require.Empty(t, rules)
	table, err = grid.Table(rules)
	require.NoError(t, err)
	require.Empty(t, table.List())
}

// TestBands checks that each number of ranks belongs to the number of the grid that is nearest by
// its logarithm.
func TestBands(t *testing.T) {
	g := grid.Grid{Where: selection.Case{Collective: schedule.Barrier}, Ranks: []int{2, 3, 5, 16, 100}, Sizes: []int{0}}
	choices := map[int]string{2: "barrier/dissemination", 3: "barrier/exchange", 5: "barrier/dissemination", 16: "barrier/exchange", 100: "barrier/dissemination"}
	rules, err := g.Rules(func(c selection.Case, _ []grid.Choice) (grid.Cell, error) {
		return grid.Cell{How: grid.Modelled, Candidates: []grid.Candidate{
			{Choice: grid.Choice{Algorithm: "barrier/hsb"}, Time: fit.Exactly(9)}, {Choice: grid.Choice{Algorithm: choices[c.Ranks]}, Time: fit.Exactly(5)},
		}}, nil
	})
	require.NoError(t, err)
	table, err := grid.Table(rules)
	require.NoError(t, err)
	for ranks := 2; ranks <= 100; ranks++ {
		nearest := 0
		for _, of := range g.Ranks {
			if nearest == 0 || math.Abs(math.Log(float64(ranks)/float64(of))) < math.Abs(math.Log(float64(ranks)/float64(nearest))) {
				nearest = of
			}
		}
		d, _ := table.Of(selection.Case{Collective: schedule.Barrier, Ranks: ranks})
		require.Equal(t, choices[nearest], d.Rule.Algorithm, "%d ranks", ranks)
	}
}

func TestGridRefuses(t *testing.T) {
	for _, g := range []grid.Grid{
		{Ranks: []int{1}, Sizes: []int{0}}, {Ranks: []int{2, 2}, Sizes: []int{0}}, {Sizes: []int{0}},
		{Ranks: []int{2}, Sizes: []int{5, 4}}, {Ranks: []int{2}},
	} {
		_, err := g.Rules(nil)
		require.ErrorContains(t, err, "must be ascending", "%v", g)
	}
	failing := fmt.Errorf("no time")
	_, err := (&grid.Grid{Ranks: []int{2}, Sizes: []int{0}}).Rules(func(selection.Case, []grid.Choice) (grid.Cell, error) { return grid.Cell{}, failing })
	require.ErrorIs(t, err, failing)
}
