package grid

import (
	"math"
	"math/bits"
	"slices"

	"github.com/schedgen/schedgen/ir"
	"github.com/schedgen/schedgen/schedule"
	"github.com/schedgen/schedgen/schedule/selection"
	"github.com/schedgen/schedgen/sim"
)

// Machine is a modelled machine. Likely is the best estimate. Low and High are the machine with all
// measured values at the lower or upper ends of their confidence intervals. If both are nil, the
// machine is known exactly.
type Machine struct{ Likely, Low, High sim.Model }

// OnModel returns a source of the times of candidates on a modelled machine. It is for cases
// without multicast and shared memory, which the models do not cover. compare returns the same as
// selection.Compare on the likely machine.
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
			if _, err := p.addChoice(choice, math.Inf(1)); err != nil {
				return Cell{}, err
			}
		}
		return p.cell, nil
	}
}

// BuiltIn returns the choice of the built-in rules in a case.
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

// builtIn adds the choice of the built-in rules. If its time cannot be computed, the cell stays
// empty, and the built-in rules decide.
func (p *pricing) builtIn() error {
	known, err := p.addChoice(BuiltIn(p.c), math.Inf(1))
	if !known {
		p.cell.How = Unknown
	}
	return err
}

// found adds the best parameters of an algorithm in the form of a rule. It prefers round values,
// which mean the same for neighbouring cases, if they take hardly more time.
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
		if known, err := p.addChoice(round, float64(best.Time)*(1+alike)); known || err != nil {
			return err
		}
	}
	_, err = p.addChoice(exact, math.Inf(1))
	return err
}

// exact returns a candidate's parameters in the form of a rule, without defaults.
func (p *pricing) exact(best *selection.Candidate) (Choice, error) {
	choice := Choice{Algorithm: best.Algorithm}
	spec, err := schedule.New(best.Algorithm, schedule.Params{Ranks: p.c.Ranks})
	if err != nil {
		return choice, err
	}
	usual, alg := spec.Params(), spec.Algorithm()
	fan := func(v, usual int) int {
		if v != usual && v >= p.c.Ranks-1 {
			return schedule.MaxFan // a flat tree of any number of ranks
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
	case chunks == open.Chunks: // the default of the runtime
	case chunks == 1, alg.CutsItself():
		choice.Params.Chunks = chunks
	default:
		choice.Params.Chunk = (p.c.Bytes + chunks - 1) / chunks
	}
	return choice, nil
}

// unless returns v, or 0 if v is the usual value.
func unless(v, usual int) int {
	if v == usual {
		return 0
	}
	return v
}

// addChoice adds a choice if it is not there yet. It reports whether the choice takes at most most.
func (p *pricing) addChoice(choice Choice, most float64) (bool, error) {
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
	known := Candidate{Choice: choice}
	time := &known.Time
	time.Value, time.Low, time.High = float64(took), float64(took), float64(took)
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
	p.cell.Candidates = append(p.cell.Candidates, known)
	return true, nil
}

// nearestPower returns the power of two that is nearest to n by its logarithm.
func nearestPower(n int) int {
	low := 1 << (bits.Len(uint(n)) - 1)
	if float64(n) > float64(low)*math.Sqrt2 {
		return 2 * low
	}
	return low
}
