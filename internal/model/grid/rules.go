package grid

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/schedgen/schedgen/ir"
	"github.com/schedgen/schedgen/schedule/selection"
)

// Grid is the set of cases for which rules are made. A number of ranks that is not in Ranks belongs
// to the one that is nearest by its logarithm. The same holds for lengths. The built-in rules
// decide outside of the ends.
type Grid struct {
	Where selection.Case // the fields that all cases share; Ranks and Bytes are ignored
	Ranks []int          // ascending, from 2
	Sizes []int          // ascending, for a collective with sizes; otherwise 0 alone
}

// Cases returns the cases of the grid, by ranks, then by sizes.
func (g *Grid) Cases() []selection.Case {
	all := make([]selection.Case, 0, len(g.Ranks)*len(g.Sizes))
	for _, ranks := range g.Ranks {
		for _, bytes := range g.Sizes {
			c := g.Where
			c.Ranks, c.Bytes = ranks, bytes
			all = append(all, c)
		}
	}
	return all
}

// Rules returns the rules of a grid. There are none if no choice is worth a rule. No two rules fit
// the same case. Rules asks for cells in the order of Cases. It fails if the numbers of ranks or
// the sizes do not ascend, or if the source fails.
func (g *Grid) Rules(of Source) ([]selection.Rule, error) {
	if err := g.check(); err != nil {
		return nil, err
	}
	var areas []area
	var above []*decision
	cases := g.Cases()
	for r := range g.Ranks {
		row, err := g.row(cases[r*len(g.Sizes):][:len(g.Sizes)], above, of)
		if err != nil {
			return nil, err
		}
		areas = merge(areas, runs(r, row))
		above = row
	}
	rules := make([]selection.Rule, len(areas))
	for i := range areas {
		rules[i] = g.rule(&areas[i])
	}
	return rules, nil
}

// Table returns a table of the rules of grids. If two rules fit a case, the first one decides.
// After the rules of each collective it adds one that leaves all other cases to the built-in rules.
// The error is as for [selection.New].
func Table(rules []selection.Rule) (*selection.Rules, error) {
	var all []selection.Rule
	for _, row := range ir.Collectives() {
		collective := row.Name
		before := len(all)
		for i := range rules {
			if rules[i].Collective == collective {
				all = append(all, rules[i])
			}
		}
		if len(all) > before {
			all = append(all, selection.Rule{Collective: collective, Algorithm: selection.BuiltIn, Reason: "nothing better is known"})
		}
	}
	return selection.New(all)
}

func (g *Grid) check() error {
	ascend := func(all []int, least int) bool {
		return len(all) > 0 && all[0] >= least && slices.IsSorted(all) && len(slices.Compact(slices.Clone(all))) == len(all)
	}
	switch {
	case !ascend(g.Ranks, 2):
		return errors.New("grid: ranks must be ascending, from 2")
	case !ascend(g.Sizes, 0):
		return errors.New("grid: sizes must be ascending, from 0")
	}
	return nil
}

// row decides the cases of one number of ranks. above holds the decisions for the previous number.
func (g *Grid) row(cases []selection.Case, above []*decision, of Source) ([]*decision, error) {
	row := make([]*decision, len(cases))
	for s, c := range cases {
		var near []Choice
		if s > 0 && row[s-1] != nil {
			near = append(near, row[s-1].Choice)
		}
		if above != nil && above[s] != nil {
			near = append(near, above[s].Choice)
		}
		cell, err := of(c, near)
		if err != nil {
			return nil, err
		}
		row[s] = cell.decide(near)
	}
	return row, nil
}

// area is a rectangle of the grid with one choice. Its indices include both ends.
type area struct {
	Choice
	how                How
	ranks, sizes       [2]int
	leastWin, greatest float64
	below              []string
}

// runs returns the areas of a row.
func runs(r int, row []*decision) (all []area) {
	for s, d := range row {
		if d == nil {
			continue
		}
		one := area{d.Choice, d.how, [2]int{r, r}, [2]int{s, s}, d.win, d.win, []string{d.below}}
		if last := len(all) - 1; last >= 0 && all[last].sizes[1] == s-1 && all[last].Choice == d.Choice && all[last].how == d.how {
			all[last].join(&one)
			continue
		}
		all = append(all, one)
	}
	return all
}

// join extends a by the adjacent area b.
func (a *area) join(b *area) {
	a.ranks[1], a.sizes[1] = max(a.ranks[1], b.ranks[1]), max(a.sizes[1], b.sizes[1])
	a.leastWin, a.greatest = min(a.leastWin, b.leastWin), max(a.greatest, b.greatest)
	for _, name := range b.below {
		if !slices.Contains(a.below, name) {
			a.below = append(a.below, name)
		}
	}
}

// merge adds the areas of the next row, and extends areas that continue in it.
func merge(all, row []area) []area {
	for i := range row {
		b := &row[i]
		on := slices.IndexFunc(all, func(a area) bool {
			return a.Choice == b.Choice && a.how == b.how && a.sizes == b.sizes && a.ranks[1] == b.ranks[0]-1
		})
		if on < 0 {
			all = append(all, *b)
			continue
		}
		all[on].join(b)
	}
	return all
}

// rule returns the rule of an area. Areas do not overlap, so the order of rules does not matter.
func (g *Grid) rule(a *area) selection.Rule {
	r := selection.Rule{
		Collective: g.Where.Collective, Ranks: band(g.Ranks, a.ranks), Place: g.Where.Place,
		Multicast: need(g.Where.Multicast), Memory: need(g.Where.Memory),
		Algorithm: a.Algorithm, Params: a.Params, Reason: a.reason(),
	}
	if row, _ := ir.CollectiveNamed(g.Where.Collective); row.Blocks != nil && !row.Published {
		r.Bytes = band(g.Sizes, a.sizes)
		if r.Bytes.From == 1 {
			r.Bytes.From = 0 // an empty message belongs to the case of one byte
		}
	}
	return r
}

// need returns the condition that something is there, or that it is not.
func need(there bool) selection.Need {
	if there {
		return selection.With
	}
	return selection.Without
}

// reason says where the choice comes from, and how much better it is. It fits the bound of a rule's
// reason.
func (a *area) reason() string {
	win := fmt.Sprintf("%.0f", 100*a.leastWin)
	if most := fmt.Sprintf("%.0f", 100*a.greatest); most != win {
		win += " to " + most
	}
	return fmt.Sprintf("%v: takes %s %% less than the built-in choice, %s", a.how, win, strings.Join(a.below, " and "))
}

// band returns the range of numbers that belong to the values with the given indices: up to the
// geometric mean with the next value.
func band(values []int, of [2]int) selection.Range {
	r := selection.Range{From: values[of[0]], To: values[of[1]] + 1}
	if of[0] > 0 {
		r.From = between(values[of[0]-1], values[of[0]])
	}
	if of[1] < len(values)-1 {
		r.To = between(values[of[1]], values[of[1]+1])
	}
	return r
}

// between returns the first number that belongs to b and not to a.
func between(a, b int) int {
	return min(max(int(math.Ceil(math.Sqrt(float64(a)*float64(b)))), a+1), b)
}
