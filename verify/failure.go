package verify

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/schedgen/schedgen/internal/ir/fixpoint"
	"github.com/schedgen/schedgen/ir"
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

// withNames adds the names that the author gave to slots of a failure, in the order in which they
// occur in it.
func withNames(s *ir.Schedule, err error) error {
	var f *Failure
	if !errors.As(err, &f) {
		return err
	}
	places := slices.Clone(f.Places)
	for _, step := range f.Path {
		places = append(places, step.Place)
	}
	var told []string
	for _, p := range places {
		if p.Rank < 0 || p.Rank >= len(s.Programs) {
			continue
		}
		if name, ok := s.Programs[p.Rank].Names[p.Slot]; ok {
			if text := fmt.Sprintf("%v of rank %d is %q", p.Slot, p.Rank, name); !slices.Contains(told, text) {
				told = append(told, text)
			}
		}
	}
	if len(told) > 0 {
		f.Text += " (" + strings.Join(told, ", ") + ")"
	}
	return err
}
