package selection

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/schedgen/schedgen/ir"
	"github.com/schedgen/schedgen/schedule"
)

// maxRules bounds a table. The largest published tables of Open MPI have a few hundred rules for a
// collective.
const maxRules = 4096

// check returns an error for the first rule with an impossible condition or parameter. If there is
// none, it returns an error for the first idle rule, and otherwise for a case that no rule fits.
func check(list []Rule) error {
	if len(list) > maxRules {
		return fmt.Errorf("%d rules: at most %d are allowed", len(list), maxRules)
	}
	for i := range list {
		if err := list[i].check(); err != nil {
			return list[i].blame(err)
		}
	}
	for _, row := range ir.Collectives() {
		if err := cover(list, row.Name); err != nil {
			return err
		}
	}
	return nil
}

// hasSizes reports whether rules of a collective may depend on the length of a block.
func hasSizes(row *ir.Collective) bool { return row.Blocks != nil && !row.Published }

// sized reports whether the collective of that name has messages whose lengths rules may depend on.
func sized(collective string) bool {
	row, ok := ir.CollectiveNamed(collective)
	return ok && hasSizes(&row)
}

// collectiveNames lists the names of the table.
func collectiveNames() string {
	var names []string
	for _, row := range ir.Collectives() {
		names = append(names, row.Name)
	}
	return strings.Join(names, ", ")
}

// blame returns the error with the rule that it concerns.
func (r *Rule) blame(err error) error {
	if r.Line > 0 {
		return faultf(r.Line, "%v", err)
	}
	return fmt.Errorf("rule of %s for %s: %w", r.Collective, r.Algorithm, err)
}

func (r *Rule) check() error {
	row, ok := ir.CollectiveNamed(r.Collective)
	if !ok {
		return fmt.Errorf("no collective %q; there are %s", r.Collective, collectiveNames())
	}
	if err := r.checkConditions(&row); err != nil {
		return err
	}
	return r.checkAlgorithm()
}

func (r *Rule) checkConditions(row *ir.Collective) error {
	for _, c := range []struct {
		name   string
		of     Range
		lo, hi int // range of v
	}{
		{"ranks", r.Ranks, 1, schedule.MaxRanks},
		{"bytes", r.Bytes, 0, maxBytes - 1},
		{"hosts", r.Hosts, 2, schedule.MaxRanks},
	} {
		if err := c.of.check(c.name, c.lo, c.hi); err != nil {
			return err
		}
	}
	switch {
	case r.Bytes != Range{} && row.Blocks == nil:
		return fmt.Errorf("bytes: a %s has no message", row.Name)
	case r.Bytes != Range{} && row.Published:
		return errors.New("bytes: one algorithm serves rootless messages of all lengths")
	case r.Hosts != Range{} && r.Hosts.From == 0:
		return errors.New("hosts: min is missing; it counts hosts with several ranks, at least 2")
	case int(r.Place) >= len(places) || r.Multicast > Without || r.Memory > Without || r.Rings > Without:
		return errors.New("place, multicast, memory or rings has an unknown value")
	}
	return nil
}

// check returns an error unless r includes a number in lo … hi and names no bound outside of them.
func (r Range) check(name string, lo, hi int) error {
	switch {
	case r.From != 0 && (r.From < lo || r.From > hi):
		return fmt.Errorf("%s: min is %d, must be in %d..%d", name, r.From, lo, hi)
	case r.To != 0 && (r.To <= lo || r.To > hi+1):
		return fmt.Errorf("%s: max is %d, must be in %d..%d", name, r.To-1, lo, hi)
	case r.To != 0 && r.To <= r.From:
		return fmt.Errorf("%s: max %d is below min %d", name, r.To-1, r.From)
	}
	return nil
}

func (r *Rule) checkAlgorithm() error {
	switch {
	case r.Algorithm == BuiltIn && r.Params != Params{}:
		return errors.New("params: the built-in rules have their own")
	case r.Algorithm == Modelled && r.Params != Params{}:
		return errors.New("params: the model chooses them")
	case r.Algorithm == MPI && r.Params != Params{}:
		return errors.New("params: the MPI chooses them")
	case r.Algorithm == Modelled && candidates()[r.Collective] == nil:
		return fmt.Errorf("the model has no algorithm of %s", r.Collective)
	case r.Algorithm == BuiltIn || r.Algorithm == Modelled || r.Algorithm == MPI:
		return nil
	}
	if err := schedule.Check(r.Algorithm, schedule.Params{Ranks: 1}); err != nil {
		return clean(err)
	}
	alg, _ := schedule.Named(r.Algorithm)
	if alg.Collective != r.Collective {
		return fmt.Errorf("%s is not an algorithm of %s", alg.Name, r.Collective)
	}
	if alg.Multicasts() && r.Multicast != With {
		return fmt.Errorf(`%s multicasts: the rule needs "multicast": true`, alg.Name)
	}
	return r.Params.check(&alg)
}

// check returns an error unless alg takes the parameters.
func (p *Params) check(alg *schedule.Algorithm) error {
	takes := func(name string) bool { return slices.Contains(alg.Params, name) }
	switch {
	case p.Masters && !takes("hosts"):
		return fmt.Errorf("masters: not a parameter of %s", alg.Name)
	case p.Chunk != 0 && !takes("chunks"):
		return fmt.Errorf("chunk: not a parameter of %s", alg.Name)
	case p.Chunk != 0 && alg.CutsItself():
		return fmt.Errorf("chunk: %s cuts the message by the number of ranks; chunks is another number", alg.Name)
	case p.Chunk < 0:
		return fmt.Errorf("chunk: %d bytes, must be at least 1", p.Chunk)
	case p.Chunk != 0 && p.Chunks != 0:
		return errors.New("chunk and chunks: give only one of them")
	}
	err := schedule.Check(alg.Name, schedule.Params{Ranks: 1, Degree: p.Degree, FanIn: p.FanIn, FanOut: p.FanOut, Chunks: p.Chunks})
	return clean(err)
}

// clean rewrites an error of package schedule in the words of a table.
func clean(err error) error {
	var param *schedule.ParamError
	var name *schedule.NameError
	switch {
	case errors.As(err, &param):
		return fmt.Errorf("%s: %d: %s", param.Param, param.Value, param.Reason)
	case errors.As(err, &name) && len(name.Near) > 0:
		return fmt.Errorf("no algorithm %q; %s", name.Name, name.Suggestion())
	case errors.As(err, &name):
		return fmt.Errorf("no algorithm %q", name.Name)
	}
	return err
}
