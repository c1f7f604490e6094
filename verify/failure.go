package verify

import (
	"fmt"

	"github.com/schedgen/schedgen/ir"
	"github.com/schedgen/schedgen/ir/fixpoint"
)

// Place is one slot of one rank.
type Place = fixpoint.Place

// Step is one link of a counterexample: a slot and the rank that sets it, or would have to. From is
// -1 if no rank does.
type Step struct {
	Place
	From int // the rank that sets it, or -1
}

// Failure is the error of a check that does not hold. It holds the counterexample. Its text is one
// line.
type Failure struct {
	Check  string  // the check that does not hold
	Text   string  // the counterexample in words
	Ranks  []int   // the ranks concerned, first the one that goes wrong first
	Places []Place // the slots concerned
	// Path shows how the failure comes about: each step has the next as its reason. The path is a
	// cycle if ranks wait in a circle.
	Path []Step

	// World is the run that shows the failure. It says what is lost, which repairs are made and
	// which slot is never set.
	World fixpoint.Model
}

// Error returns the check's name and the counterexample in one line.
func (f *Failure) Error() string { return f.Check + ": " + f.Text }

// in returns f with the run that shows it.
func (f *Failure) in(world fixpoint.Model) *Failure {
	f.World = world
	return f
}

// fail returns a failure that concerns the given ranks. [Run] fills in the name of the check.
func fail(ranks []int, places []Place, path []Step, format string, args ...any) *Failure {
	return &Failure{Text: fmt.Sprintf(format, args...), Ranks: ranks, Places: places, Path: path}
}

func place(rank int, s ir.Slot) Place { return Place{Rank: rank, Slot: s} }
