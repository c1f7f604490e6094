package grid

import (
	"math"
	"math/bits"
	"slices"

	"github.com/schedgen/schedgen/ir"
	"github.com/schedgen/schedgen/schedule"
	"github.com/schedgen/schedgen/schedule/selection"
	"github.com/schedgen/schedgen/sim"
	"github.com/schedgen/schedgen/sim/fit"
)

// Machine is a modelled machine: as it likely is, and if all that was measured of it is at the lower, or
// at the upper, ends of confidence intervals. Without these two it is known exactly.
type Machine struct{ Likely, Low, High sim.Model }

// OnModel returns the source of what candidates take on a modelled machine. It is for cases
// without multicast and shared memory, of which models know nothing. compare returns what
// selection.Compare does on the likely machine.
func OnModel(m Machine, compare func(selection.Case) ([]selection.Candidate, error)) Source {
	return func(c selection.Case, near []Choice) (Cell, error) {
		p := &pricing{c: c, m: m, cell: Cell{How: Modelled}}
		if err := p.builtIn(); err != nil || p.cell.How == Unknown {
			return p.cell, err
		}
		best, err := compare(c)
		if err != nil {
			return Cell{}, err
		}
		for i := range best {
			if err := p.found(&best[i]); err != nil {
				return Cell{}, err
			}
		}
		for _, choice := range near {
			if _, err := p.add(choice, math.Inf(1)); err != nil {
				return Cell{}, err
			}
		}
		return p.cell, nil
	}
}

// BuiltIn returns what the built-in rules choose in a case.
func BuiltIn(c selection.Case) Choice {
	d, _ := selection.Builtin().Of(c) // every collective has a rule
	choice := Choice{d.Rule.Algorithm, d.Rule.Params}
	choice.Params.Masters = choice.Params.Masters && c.Place == selection.Anywhere
	return choice
}

// pricing fills a cell.
type pricing struct {
	c    selection.Case
	m    Machine
	cell Cell
}

// builtIn adds what the built-in rules choose. If it is too large to be computed the cell stays
// empty, and they decide.
func (p *pricing) builtIn() error {
	known, err := p.add(BuiltIn(p.c), math.Inf(1))
	if !known {
		p.cell.How = Unknown
	}
	return err
}

// found adds the best parameters of an algorithm as a rule says them: so that they mean the same for
// neighbours, if that takes hardly more.
func (p *pricing) found(best *selection.Candidate) error {
	if best.Time == sim.Never {
		return nil
	}
	exact, err := p.exact(best)
	if err != nil {
		return err
	}
	if round := exact; round.Params.Chunk > 0 {
		round.Params.Chunk = nearestPower(round.Params.Chunk)
		if known, err := p.add(round, float64(best.Time)*(1+alike)); known || err != nil {
			return err
		}
	}
	_, err = p.add(exact, math.Inf(1))
	return err
}

// exact returns what a rule says of a candidate's parameters: nothing of those that it has by
// default.
func (p *pricing) exact(best *selection.Candidate) (Choice, error) {
	choice := Choice{Algorithm: best.Algorithm}
	spec, err := schedule.New(best.Algorithm, schedule.Params{Ranks: p.c.Ranks})
	if err != nil {
		return choice, err
	}
	usual, alg := spec.Params(), spec.Algorithm()
	fan := func(v, usual int) int {
		if v != usual && v >= p.c.Ranks-1 {
			return schedule.MaxFan // a flat tree, of however many
		}
		return unless(v, usual)
	}
	choice.Params = selection.Params{
		Degree: unless(best.Params.Degree, usual.Degree),
		FanIn:  fan(best.Params.FanIn, usual.FanIn), FanOut: fan(best.Params.FanOut, usual.FanOut),
		Masters: p.c.Place == selection.Anywhere && slices.Contains(alg.Params, "hosts"),
	}
	if row, _ := ir.CollectiveNamed(p.c.Collective); row.Blocks == nil || row.Published {
		return choice, nil
	}
	open, err := choice.Params.In(best.Algorithm, &p.c, 0)
	switch chunks := best.Params.Chunks; {
	case err != nil:
		return choice, err
	case chunks == open.Chunks: // which the runtime takes by itself
	case chunks == 1, alg.CutsItself():
		choice.Params.Chunks = chunks
	default:
		choice.Params.Chunk = (p.c.Bytes + chunks - 1) / chunks
	}
	return choice, nil
}

// unless returns v unless it is the usual value, 0 then.
func unless(v, usual int) int {
	if v == usual {
		return 0
	}
	return v
}

// add adds a choice if it is not there, and reports whether it takes at most so long.
func (p *pricing) add(choice Choice, most float64) (bool, error) {
	if slices.ContainsFunc(p.cell.Candidates, func(c Candidate) bool { return c.Choice == choice }) {
		return true, nil
	}
	params, err := choice.Params.In(choice.Algorithm, &p.c, 0)
	if err != nil {
		return false, err
	}
	took, err := selection.Cost(choice.Algorithm, params, p.c, p.m.Likely)
	if err != nil || took == sim.Never || float64(took) > most {
		return false, err
	}
	time := fit.Exactly(float64(took))
	for _, m := range []sim.Model{p.m.Low, p.m.High} {
		if m == nil {
			continue
		}
		end, err := selection.Cost(choice.Algorithm, params, p.c, m)
		if err != nil {
			return false, err
		}
		time.Low, time.High = min(time.Low, float64(end)), max(time.High, float64(end))
	}
	p.cell.Candidates = append(p.cell.Candidates, Candidate{choice, time})
	return true, nil
}

// nearestPower returns the power of two that is nearest by its logarithm.
func nearestPower(n int) int {
	low := 1 << (bits.Len(uint(n)) - 1)
	if float64(n) > float64(low)*math.Sqrt2 {
		return 2 * low
	}
	return low
}
