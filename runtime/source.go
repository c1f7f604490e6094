package runtime

import (
	"fmt"
	"slices"

	"github.com/schedgen/schedgen/schedule"
	"github.com/schedgen/schedgen/schedule/selection"
)

// source is what a communicator can run. It is an interface so that a program that calls only New
// carries the algorithms of its catalog and no others.
type source interface {
	// spec returns an algorithm by its name, with parameters.
	spec(name string, p schedule.Params) (*schedule.Spec, error)
	// named returns the algorithm of that name. If there is none, it returns one with the name alone.
	named(name string) schedule.Algorithm
	algorithms() []schedule.Algorithm
	// decide returns the decision of rules for a case. nil stands for the rules that always exist.
	decide(rules *selection.Rules, of selection.Case) (d selection.Decision, ok bool)
	// learner returns what chooses among the algorithms by their times, or nil if there is no choice.
	learner(c *Comm) learner
	// tree names the tree by which a collective folds if results must be the same everywhere.
	tree(collective string) string
}

// everything is the source of a communicator of Join: all algorithms and rules.
type everything struct{}

func (everything) spec(name string, p schedule.Params) (*schedule.Spec, error) {
	return schedule.New(name, p)
}

func (everything) named(name string) schedule.Algorithm {
	a, _ := schedule.Named(name)
	a.Name = name
	return a
}

func (everything) algorithms() []schedule.Algorithm { return schedule.Algorithms() }

func (everything) decide(rules *selection.Rules, of selection.Case) (selection.Decision, bool) {
	if rules == nil {
		rules = selection.Builtin()
	}
	return rules.Of(of)
}

func (everything) learner(c *Comm) learner { return newLessons(c) }

func (everything) tree(collective string) string { return selection.Tree(collective) }

// catalog is the source of a communicator of New.
type catalog []schedule.Algorithm

func (c catalog) spec(name string, p schedule.Params) (*schedule.Spec, error) {
	if i := c.index(name); i >= 0 {
		return schedule.Of(c[i], p)
	}
	return nil, fmt.Errorf("%s is not in Config.Catalog", name)
}

func (c catalog) named(name string) schedule.Algorithm {
	if i := c.index(name); i >= 0 {
		return c[i]
	}
	return schedule.Algorithm{Name: name}
}

func (c catalog) index(name string) int {
	return slices.IndexFunc(c, func(a schedule.Algorithm) bool { return a.Name == name })
}

func (c catalog) algorithms() []schedule.Algorithm { return c }

func (c catalog) decide(_ *selection.Rules, of selection.Case) (d selection.Decision, ok bool) {
	i := slices.IndexFunc(c, func(a schedule.Algorithm) bool { return a.Collective == of.Collective })
	if i < 0 {
		return d, false
	}
	return selection.Decision{Rule: &selection.Rule{Collective: of.Collective, Algorithm: c[i].Name}}, true
}

func (c catalog) learner(*Comm) learner { return nil }

func (c catalog) tree(string) string { return "" }
