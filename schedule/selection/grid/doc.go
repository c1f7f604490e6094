// Package grid makes rules of what candidates take in the cases of a grid, numbers of ranks by
// lengths of messages: as few as say the same, and only where a choice is better than that of
// the built-in rules. What candidates take is passed in: it was measured, or a model says so.
package grid

import (
	"github.com/schedgen/schedgen/schedule/selection"
	"github.com/schedgen/schedgen/sim/fit"
)

// Choice is an algorithm with what a rule gives it.
type Choice struct {
	Algorithm string
	Params    selection.Params
}

// Candidate is a choice and what it takes in a case, in nanoseconds.
type Candidate struct {
	Choice
	Time fit.Interval
}

// How says where the times of a cell come from.
type How uint8

// The origins of times.
const (
	Unknown  How = iota // there are none: the built-in rules decide
	Measured            // with ranks of this machine
	Modelled
)

// String returns the word that reasons begin with.
func (h How) String() string {
	return [...]string{Unknown: "unknown", Measured: "measured", Modelled: "modelled"}[h]
}

// Cell is a case with its candidates. The first of them is what the built-in rules choose.
type Cell struct {
	How        How
	Candidates []Candidate
}

// Source returns the cell of a case. With near it says which choices stand beside it in the grid: if
// the cell has their times too, neighbours that are as good may share a rule.
type Source func(c selection.Case, near []Choice) (Cell, error)
