// Package grid derives rules from the times of candidates in the cases of a grid: numbers of ranks
// by lengths of messages. It makes as few rules as possible, and only where a choice is better than
// the choice of the built-in rules. The caller passes the times, which it has measured or computed
// from a model.
package grid

import "github.com/schedgen/schedgen/schedule/selection"

// Choice is an algorithm and the parameters that a rule gives it.
type Choice struct {
	Algorithm string
	Params    selection.Params
}

// Candidate is a choice and its time in a case, in nanoseconds.
type Candidate struct {
	Choice
	Time struct{ Value, Low, High float64 } // an estimate, and the ends of its confidence interval
}

// How says where the times of a cell come from.
type How uint8

// The origins of times.
const (
	Unknown  How = iota // there are no times: the built-in rules decide
	Measured            // with ranks of this machine
	Modelled
)

// String returns the word with which reasons start.
func (h How) String() string {
	return [...]string{Unknown: "unknown", Measured: "measured", Modelled: "modelled"}[h]
}

// Cell holds the candidates of a case. The first of them is the choice of the built-in rules.
type Cell struct {
	How        How
	Candidates []Candidate
}

// Source returns the cell of a case. near lists the choices of neighbouring cells of the grid. If
// the cell has the times of these too, neighbours with equally good choices may share a rule.
type Source func(c selection.Case, near []Choice) (Cell, error)
