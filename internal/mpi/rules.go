package mpi

import (
	"fmt"
	"slices"

	"github.com/schedgen/schedgen/internal/engine"
	"github.com/schedgen/schedgen/schedule"
	"github.com/schedgen/schedgen/schedule/selection"
)

// Note says that engine c does not do what a rule says.
type Note struct {
	Rule selection.Rule
	Err  error // the reason
}

// String returns the note as a line for people.
func (n Note) String() string {
	return fmt.Sprintf("rules: line %d: engine c leaves out %s: %v", n.Rule.Line, n.Rule.Algorithm, n.Err)
}

// ChoicesFor returns the schedules by which engine c serves operations among a number of ranks: what
// rules say, and [Choices] where they leave the choice to the built-in rules. A choice whose algorithm
// is [selection.MPI] leaves the operation to the MPI. A rule whose schedule
// engine c cannot run is left out, with a note. Operations with blocks of different lengths follow
// no rules. The choices of an operation ascend by Least. Of two with the same Least, the second one
// need not fold in the order of the ranks.
func ChoicesFor(ranks int, rules *selection.Rules) (all []Choice, notes []Note) {
	usual := make(map[Operation][]Choice)
	for _, c := range Choices() {
		if c.Most == 0 || ranks <= c.Most {
			usual[c.Operation] = append(usual[c.Operation], c)
		}
	}
	for op := range AlltoallV + 1 {
		if op > Alltoall || rules.Digest() == 0 || !slices.ContainsFunc(rules.List(), func(r selection.Rule) bool { return r.Collective == Collectives[op] }) {
			all = append(all, usual[op]...)
			continue
		}
		f := follower{ranks: ranks, rules: rules, operation: op, usual: usual[op]}
		for _, least := range f.lengths() {
			for _, ordered := range []bool{true, false} {
				if c, ok := f.choice(least, ordered); ok {
					all = append(all, c)
				}
			}
		}
		notes = append(notes, f.notes...)
	}
	return all, notes
}

// follower finds the choices of an operation by rules.
type follower struct {
	ranks     int
	rules     *selection.Rules
	operation Operation
	usual     []Choice // without rules
	notes     []Note
}

// lengths returns the lengths of blocks, ascending from 0, from which on another schedule may be
// chosen, or blocks may be cut into another number of chunks.
func (f *follower) lengths() []int {
	all := []int{0}
	for _, c := range f.usual {
		all = append(all, c.Least)
	}
	for _, r := range f.rules.List() {
		if r.Collective != Collectives[f.operation] {
			continue
		}
		all = append(all, r.Bytes.From, r.Bytes.To)
		for n := 16 << 10; n <= 16<<20 && r.Params.Chunks == 0; n *= 4 {
			all = append(all, n)
		}
	}
	slices.Sort(all)
	return slices.Compact(all)
}

// choice returns the schedule for blocks from a length on. If ordered is set, it folds in the order
// of the ranks, if the operation folds. ok is false if there is none.
func (f *follower) choice(least int, ordered bool) (c Choice, ok bool) {
	of := selection.Case{Collective: Collectives[f.operation], Ranks: f.ranks, Bytes: least, Ordered: ordered, MPI: true}
	if d, ok := f.rules.Of(of); ok && d.Own {
		c = Choice{Operation: f.operation, Least: least, Algorithm: d.Rule.Algorithm}
		if c.Algorithm == selection.MPI {
			return c, true
		}
		var err error
		if c.Params, err = d.Rule.Params.In(c.Algorithm, &of, 0); err == nil {
			err = c.check(f.ranks)
		}
		if err == nil {
			return c, true
		}
		if !slices.ContainsFunc(f.notes, func(n Note) bool { return n.Rule == *d.Rule }) {
			f.notes = append(f.notes, Note{*d.Rule, err})
		}
	}
	for _, u := range f.usual {
		alg, _ := schedule.Named(u.Algorithm)
		if u.Least <= least && (!ordered || alg.RankOrder || alg.Row().Inputs == nil) {
			c, ok = u, true
		}
	}
	c.Least = least
	return c, ok
}

// maxPlans is the greatest length of the plans of a schedule in words of 4 bytes. Each rank keeps
// them.
const maxPlans = 1 << 20

// check returns an error if engine c cannot run the choice among a number of ranks.
func (c *Choice) check(ranks int) error {
	p := c.Params
	p.Ranks = ranks
	spec, err := schedule.New(c.Algorithm, p)
	if err != nil {
		return err
	}
	plans, err := engine.Lower(spec.Schedule())
	if err != nil {
		return err
	}
	words := 0
	for i := range plans {
		if words += len(wordsOf(&plans[i])); words > maxPlans {
			return fmt.Errorf("its tables for %d ranks are longer than %d MiB", ranks, maxPlans*4>>20)
		}
	}
	return nil
}
