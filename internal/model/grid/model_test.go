package grid_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/schedgen/schedgen/internal/model/grid"
	"github.com/schedgen/schedgen/schedule"
	"github.com/schedgen/schedgen/schedule/selection"
	"github.com/schedgen/schedgen/sim"
)

// machines are a network with short overheads, one with slow links, and one whose longer messages
// take another path.
var machines = []sim.Model{
	sim.DefaultLogGP(),
	sim.LogGP{L: 50_000, O: 4_000, Gap: 5_000, GPerByte: 80_000},
	sim.PLogP{L: 2000, Sizes: []sim.PLogPSize{
		{Bytes: 1, Send: 900, Recv: 1100, Gap: 1000}, {Bytes: 4096, Send: 1500, Recv: 2500, Gap: 2000},
		{Bytes: 4097, Send: 15_000, Recv: 25_000, Gap: 20_000}, {Bytes: 1 << 20, Send: 100_000, Recv: 500_000, Gap: 400_000},
	}},
}

func onModel(m sim.Model) grid.Source {
	return grid.OnModel(grid.Machine{Likely: m}, func(c selection.Case) ([]selection.Candidate, error) { return selection.Compare(c, m) })
}

// TestModelRulesAreBetter checks that at each point of a grid the choice of the rules takes at most
// as long as the built-in choice, and about as long as the best choice in the model.
func TestModelRulesAreBetter(t *testing.T) {
	for _, m := range machines {
		for _, g := range []grid.Grid{
			{Where: selection.Case{Collective: schedule.Bcast, Place: selection.OneEach}, Ranks: []int{2, 3, 5, 12}, Sizes: []int{1, 1000, 20_000, 1_000_000}},
			{Where: selection.Case{Collective: schedule.Barrier}, Ranks: []int{2, 3, 7, 24}, Sizes: []int{0}},
		} {
			rules, err := g.Rules(onModel(m))
			require.NoError(t, err)
			table, err := grid.Table(rules)
			require.NoError(t, err)
			table, err = selection.Parse(table.Text())
			require.NoError(t, err)
			for _, ranks := range g.Ranks {
				for _, bytes := range g.Sizes {
					c := with(g.Where, ranks, bytes)
					d, _ := table.Of(c)
					base, _ := selection.Builtin().Of(c)
					took, usual := cost(t, c, d.Rule, m), cost(t, c, base.Rule, m)
					best, err := selection.Choose(c, m)
					require.NoError(t, err)
					if d.Own {
						require.LessOrEqual(t, float64(took), 0.95*float64(usual), "%v on %v", c, m)
						require.LessOrEqual(t, float64(took), 1.07*float64(best.Time), "%v on %v: %v", c, m, d.Rule)
					} else {
						require.LessOrEqual(t, 0.92*float64(usual), float64(best.Time), "%v on %v", c, m)
					}
				}
			}
		}
	}
}

func cost(t *testing.T, c selection.Case, r *selection.Rule, m sim.Model) sim.Time {
	t.Helper()
	p, err := r.Params.In(r.Algorithm, &c, 0)
	require.NoError(t, err)
	took, err := selection.Cost(r.Algorithm, p, c, m)
	require.NoError(t, err)
	return took
}

// TestUncertainMachine checks that the rules decide fewer cases the less is known about the
// machine.
func TestUncertainMachine(t *testing.T) {
	g := grid.Grid{Where: selection.Case{Collective: schedule.Bcast, Place: selection.OneEach}, Ranks: []int{2, 3, 5, 12}, Sizes: []int{1, 1000, 20_000, 100_000}}
	likely := sim.DefaultLogGP()
	found := map[selection.Case][]selection.Candidate{}
	for _, c := range g.Cases() {
		var err error
		found[c], err = selection.Compare(c, likely)
		require.NoError(t, err)
	}
	last := len(found)
	for _, off := range []sim.Time{0, 5, 20, 100} { // percent
		end := func(percent sim.Time) sim.LogGP {
			return sim.LogGP{L: likely.L * percent / 100, O: likely.O * percent / 100, Gap: likely.Gap * percent / 100, GPerByte: likely.GPerByte * sim.PerByte(percent) / 100}
		}
		m := grid.Machine{Likely: likely, Low: end(100 - off), High: end(100 + off)}
		rules, err := g.Rules(grid.OnModel(m, func(c selection.Case) ([]selection.Candidate, error) { return found[c], nil }))
		require.NoError(t, err)
		table, err := grid.Table(rules)
		require.NoError(t, err)
		decided := 0
		for _, c := range g.Cases() {
			if d, _ := table.Of(c); d.Own {
				decided++
			}
		}
		require.LessOrEqual(t, decided, last)
		require.False(t, off == 0 && decided == 0)
		last = decided
	}
	require.Zero(t, last)
}

// TestMasters checks that rules without a place run between masters if hosts have several ranks.
func TestMasters(t *testing.T) {
	for place, masters := range map[selection.Place]bool{selection.Anywhere: true, selection.OneEach: false} {
		c := selection.Case{Collective: schedule.Barrier, Ranks: 40, Place: place}
		cell, err := onModel(sim.DefaultLogGP())(c, nil)
		require.NoError(t, err)
		require.Equal(t, grid.BuiltIn(c), cell.Candidates[0].Choice)
		for _, of := range cell.Candidates {
			require.Equal(t, masters && of.Algorithm != "barrier/hsb-mcast", of.Params.Masters, "%v", of)
		}
	}
}

// TestOnModel checks that the choice of a neighbour gets a time too, and that the built-in rules
// decide a case that is too large to compute.
func TestOnModel(t *testing.T) {
	near := grid.Choice{Algorithm: "bcast/chain", Params: selection.Params{Chunk: 777}}
	c := selection.Case{Collective: schedule.Bcast, Ranks: 9, Bytes: 10_000, Place: selection.OneEach}
	cell, err := onModel(sim.DefaultLogGP())(c, []grid.Choice{near})
	require.NoError(t, err)
	require.Equal(t, near, cell.Candidates[len(cell.Candidates)-1].Choice)
	c.Collective, c.Ranks = schedule.Barrier, 1<<20
	cell, err = onModel(sim.DefaultLogGP())(c, nil)
	require.NoError(t, err)
	require.Equal(t, grid.Unknown, cell.How)
	_, err = onModel(sim.LogGP{L: -1})(selection.Case{Collective: schedule.Barrier, Ranks: 4}, nil)
	require.ErrorContains(t, err, "negative")
}
