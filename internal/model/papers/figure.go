package papers

import (
	"math"
)

// Kind says where values come from.
type Kind uint8

// The kinds, in the order in which a figure lists them.
const (
	Paper      Kind = iota // the text of the paper states them
	Model                  // a closed form
	Simulation             // package sim
	Run                    // ranks on this machine
)

var kindNames = [...]string{"paper", "model", "simulation", "run"}

// String returns the kind's name: paper, model, simulation or run.
func (k Kind) String() string { return kindNames[k] }

// Axis describes a coordinate.
type Axis struct {
	Label string // "ranks"
	Unit  string // "µs"; "" for a number
	Log   bool   // logarithmic scale
	Cut   bool   // the scale starts at the least value, not at 0
	Whole bool   // only whole numbers have values, so a line may join neighbours alone
}

// String returns the label with the unit.
func (a Axis) String() string {
	if a.Unit == "" {
		return a.Label
	}
	return a.Label + " [" + a.Unit + "]"
}

// Point is one value of a series.
type Point struct{ X, Y float64 }

// Series is one curve.
type Series struct {
	Name   string
	Kind   Kind
	Points []Point // by ascending X
}

// Claim is a value that the text of the paper states, with ours beside it. An unknown value is
// None.
type Claim struct {
	At         string // section, figure or table: "§4.3, fig. 5"
	What       string
	Unit       string
	Stated     float64
	Model      float64
	Simulation float64
}

// None is an unknown value of a claim.
var None = math.NaN()

// Figure is our version of a figure or a table of a paper.
type Figure struct {
	ID     string // paper and figure: "000/4"
	Title  string
	X, Y   Axis
	Series []Series
	Claims []Claim
	Notes  []string // what is modelled, and which values are fitted

	// Channels says that the figure is a picture of nodes. A point is a channel from node X to node
	// Y. Each series of kind Model has the channels of one level, from 0 on. The series of kind
	// Simulation have, in the same order, the channels that a message takes.
	Channels bool
}

// Gapped reports whether the series leaves out whole numbers between its first and its last X.
func (s *Series) Gapped() bool {
	for i := 1; i < len(s.Points); i++ {
		if s.Points[i].X > s.Points[i-1].X+1 {
			return true
		}
	}
	return false
}

// curve returns the series of y over the given values of x.
func curve(name string, kind Kind, xs []float64, y func(x float64) float64) Series {
	s := Series{Name: name, Kind: kind, Points: make([]Point, len(xs))}
	for i, x := range xs {
		s.Points[i] = Point{x, y(x)}
	}
	return s
}

// curveOf is like curve for a function that can fail. It stops at the first error.
func curveOf(name string, kind Kind, xs []float64, y func(x float64) (float64, error)) (Series, error) {
	s := Series{Name: name, Kind: kind, Points: make([]Point, len(xs))}
	for i, x := range xs {
		v, err := y(x)
		if err != nil {
			return Series{}, err
		}
		s.Points[i] = Point{x, v}
	}
	return s, nil
}

// floats returns lo, lo+1, … hi.
func floats(lo, hi int) []float64 {
	xs := make([]float64, 0, hi-lo+1)
	for i := lo; i <= hi; i++ {
		xs = append(xs, float64(i))
	}
	return xs
}

// every returns all whole numbers from the first to the last of xs, or xs if few points are wanted.
func every(o Options, xs []float64) []float64 {
	if o.Quick {
		return xs
	}
	return floats(int(xs[0]), int(xs[len(xs)-1]))
}

// ofInts returns the numbers as floats.
func ofInts(ints ...int) []float64 {
	xs := make([]float64, len(ints))
	for i, n := range ints {
		xs[i] = float64(n)
	}
	return xs
}

// y returns the value at x, or None if the series has none.
func (s *Series) y(x float64) float64 {
	for _, p := range s.Points {
		if p.X == x {
			return p.Y
		}
	}
	return None
}

func maxY(points []Point) float64 {
	most := math.Inf(-1)
	for _, p := range points {
		most = max(most, p.Y)
	}
	return most
}
