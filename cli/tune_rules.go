package cli

import (
	"cmp"
	"context"
	"errors"
	goruntime "runtime"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/schedgen/schedgen/internal/model/fit"
	"github.com/schedgen/schedgen/internal/model/grid"
	"github.com/schedgen/schedgen/internal/terminal"
	"github.com/schedgen/schedgen/ir"
	"github.com/schedgen/schedgen/schedule/selection"
	"github.com/schedgen/schedgen/sim"
)

// grids returns a grid for each collective: of the cases to time, or of the cases that the model
// computes.
func (t *tuned) grids(timed bool) (all []grid.Grid) {
	ranks := tunedRanks(t.cmd.UpTo)
	if timed {
		ranks = tunedRanks(t.cmd.Ranks.Lo)
	}
	most := int(t.cmd.Size.hi)
	if t.machine != nil { // longer messages were not measured
		most = t.machine.Sizes[len(t.machine.Sizes)-1].Bytes
	}
	for _, collective := range tunable() {
		if !slices.Contains(t.cmd.Collective, collective) {
			continue
		}
		row := rowOf(collective)
		g := grid.Grid{Where: t.where(row, timed), Ranks: ranks, Sizes: []int{0}}
		if !timed {
			g.Ranks = slices.DeleteFunc(slices.Clone(ranks), func(n int) bool { return tooMany(row, n) })
		}
		if row.Blocks != nil {
			g.Sizes = everyOther(doublings(int(t.cmd.Size.lo), most))
		}
		all = append(all, g)
	}
	return all
}

// tunable returns the collectives for which rules are made. All ranks call these collectives, and
// algorithms for them exist. Collectives with the fewest blocks come first, because they take the
// least time.
func tunable() (names []string) {
	all := slices.DeleteFunc(ir.Collectives(), func(row ir.Collective) bool {
		return row.Published || len(candidates(row.Name, true)) == 0
	})
	slices.SortStableFunc(all, func(a, b ir.Collective) int { return cmp.Compare(blocksOf(&a), blocksOf(&b)) })
	for _, row := range all {
		names = append(names, row.Name)
	}
	return names
}

// mostModelled bounds the number of blocks that all ranks together want, if each wants several. The
// size of such schedules grows with the square of the ranks, and the model runs hundreds of them.
const mostModelled = 1 << 10

// tooMany reports whether the number of ranks is too large for the model.
func tooMany(row *ir.Collective, ranks int) bool {
	if row.Blocks == nil {
		return false
	}
	each := row.Wanted(ranks, 0, ranks-1).Count
	return each > 1 && each*ranks > mostModelled
}

// blocksOf returns the blocks of an operation among two ranks, 0 if it moves none.
func blocksOf(row *ir.Collective) int {
	if row.Blocks == nil {
		return 0
	}
	return row.Blocks(2)
}

// where returns the case that a grid is about, without ranks and size. The model gives each rank a
// processor and an interface.
func (t *tuned) where(row *ir.Collective, timed bool) selection.Case {
	if !timed {
		return selection.Case{Collective: row.Name, Place: selection.OneEach, Multicast: t.cmd.Multicast}
	}
	flags := t.cmd.flagsFor(t.cmd.Ranks.Lo)
	of, _ := flags.caseOf(row, 0, &t.link, nil) // never fails without a flag for hosts
	if t.cmd.Netns {
		of.Place = selection.OneEach
	}
	of.Ranks = 0 // the grid has them
	return of
}

// tunedRanks returns numbers of ranks up to most. Each is at most twice the one before.
func tunedRanks(most int) (all []int) {
	for _, n := range []int{2, 3, 4, 6, 8, 12} {
		if n < most {
			all = append(all, n)
		}
	}
	for n := 16; n < most; n *= 2 {
		all = append(all, n)
	}
	return append(all, most)
}

// everyOther returns every other number, beginning with the first, and the last.
func everyOther(all []int) (some []int) {
	for i := 0; i < len(all)-1; i += 2 {
		some = append(some, all[i])
	}
	return append(some, all[len(all)-1])
}

// makeRules makes the rules: from times for cases that were timed, and from the model for others.
func (t *tuned) makeRules(ctx context.Context) error {
	var list []selection.Rule
	if t.timed != nil {
		for _, g := range t.grids(true) {
			rules, err := g.Rules(t.ofTimes())
			if err != nil {
				return err
			}
			list = append(list, rules...)
		}
	}
	t.made.measured = len(list)
	rules, err := t.modelRules(ctx)
	if err != nil {
		return err
	}
	t.made.modelled = len(rules)
	t.rules, err = grid.Table(append(list, rules...))
	return err
}

// modelRules returns the rules of the model for cases that were not timed. It returns none if ranks
// share memory, because the times of puts through memory do not apply to a network, or if times
// were not measured well enough.
func (t *tuned) modelRules(ctx context.Context) (list []selection.Rule, err error) {
	model := grid.Machine{Likely: t.cmd.model()}
	if t.machine != nil {
		model = onMeasured(t.machine)
	}
	model.Likely, model.Low, model.High = t.cmd.on(model.Likely), t.cmd.on(model.Low), t.cmd.on(model.High)
	if t.link.Transport == overMem || t.link.SharesMemory() && !t.cmd.Netns {
		return nil, nil
	}
	if t.machine != nil {
		if t.misfits = t.machine.Misfits(); len(t.misfits) > 0 {
			return nil, nil
		}
	}
	grids := t.grids(false)
	found, err := t.compare(ctx, grids, model.Likely)
	if err != nil {
		return nil, err
	}
	on := grid.OnModel(model, func(c selection.Case) ([]selection.Candidate, error) { return found[c], nil })
	for i := range grids {
		rules, err := terminal.Await(ctx, func() ([]selection.Rule, error) {
			return grids[i].Rules(func(c selection.Case, near []grid.Choice) (grid.Cell, error) {
				if _, timed := t.timed[c]; timed {
					return grid.Cell{}, nil // its rules, if any, are the measured ones
				}
				return on(c, near)
			})
		})
		if err != nil {
			return nil, err
		}
		list = append(list, rules...)
	}
	return list, nil
}

// onMeasured returns the machine for which rules are made. It has the measured times of each size.
func onMeasured(m *fit.Machine) grid.Machine {
	low, high := m.PLogPEnds()
	return grid.Machine{Likely: m.PLogP(), Low: low, High: high}
}

// compare returns the results of selection.Compare for all cases of the grids that were not timed.
// It uses all cores.
func (t *tuned) compare(ctx context.Context, grids []grid.Grid, m sim.Model) (map[selection.Case][]selection.Candidate, error) {
	var cases []selection.Case
	for i := range grids {
		for _, c := range grids[i].Cases() {
			if _, timed := t.timed[c]; !timed {
				cases = append(cases, c)
			}
		}
	}
	slices.Reverse(cases) // the longest comes first, which balances the work of the cores
	bar := terminal.NewProgress(t.std, len(cases), "model")
	defer bar.Clear()
	return terminal.Await(ctx, func() (map[selection.Case][]selection.Candidate, error) {
		found, failed := make([][]selection.Candidate, len(cases)), make([]error, len(cases))
		var next atomic.Int64
		var workers sync.WaitGroup
		for range goruntime.GOMAXPROCS(0) {
			workers.Go(func() {
				for i := next.Add(1) - 1; int(i) < len(cases) && ctx.Err() == nil; i = next.Add(1) - 1 {
					found[i], failed[i] = selection.Compare(cases[i], m)
					bar.Advance()
				}
			})
		}
		workers.Wait()
		all := make(map[selection.Case][]selection.Candidate, len(cases))
		for i, c := range cases {
			all[c] = found[i]
		}
		return all, errors.Join(failed...)
	})
}

// ofTimes returns a source of the times of timed cases.
func (t *tuned) ofTimes() grid.Source {
	return func(c selection.Case, _ []grid.Choice) (grid.Cell, error) {
		cells, timed := t.timed[c]
		if !timed {
			return grid.Cell{}, nil
		}
		cell := grid.Cell{How: grid.Measured}
		for i := range cells {
			cell.Candidates = append(cell.Candidates, grid.Candidate{Choice: cells[i].Choice, Time: cells[i].time()})
		}
		return cell, nil
	}
}

// ruleLines returns the rules as a file holds them, without rules that leave a case to the built-in
// rules.
func (t *tuned) ruleLines() (lines []string) {
	all := t.rules.List()
	all = slices.DeleteFunc(all, func(r selection.Rule) bool { return r.Algorithm == selection.BuiltIn })
	for i := range all {
		lines = append(lines, all[i].String())
	}
	return lines
}
