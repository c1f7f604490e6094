package fit

import (
	"math"

	"gonum.org/v1/gonum/stat"
	"gonum.org/v1/gonum/stat/distuv"
)

// Point is what was measured at X.
type Point struct {
	X float64
	Y Interval
}

// Line is the line Intercept + Slope·X.
type Line struct{ Intercept, Slope Interval }

// At returns the line's value.
func (l *Line) At(x float64) float64 { return l.Intercept.Value + l.Slope.Value*x }

// Tolerance is by which part of what was measured a line may be off, beyond the confidence
// interval, and still fits. No machine is a line: caches, segments and interrupts make steps.
const Tolerance = 0.1

// slack is how far a line may be from the point.
func (p *Point) slack() float64 { return p.Y.Half() + Tolerance*math.Abs(p.Y.Value) }

// weight is what the point counts: sizes are powers of each other, so what matters of a residual
// is its part of the value, and how well the value is known.
func (p *Point) weight() float64 {
	half, part := p.Y.Half(), Tolerance*math.Abs(p.Y.Value)
	if math.IsInf(half, 0) || half+part == 0 {
		return 1e-12
	}
	return 1 / (half*half + part*part)
}

// LeastSquares returns the line for which the sum of weighted squares of residuals is least. The
// intervals follow from the residuals: they are Student's with two degrees of freedom less than
// points, and infinite for two points or one. At least one point is needed; one gives a level line.
func LeastSquares(points []Point) Line {
	x, y, w := make([]float64, len(points)), make([]float64, len(points)), make([]float64, len(points))
	for i := range points {
		x[i], y[i], w[i] = points[i].X, points[i].Y.Value, points[i].weight()
	}
	unknown := math.Inf(1)
	if len(points) == 1 {
		return Line{around(y[0], unknown), around(0, unknown)}
	}
	a, b := stat.LinearRegression(x, y, w, false)
	l := Line{around(a, unknown), around(b, unknown)}
	if n := len(points) - 2; n > 0 {
		errA, errB := errorsOf(&l, x, y, w)
		t := distuv.StudentsT{Sigma: 1, Nu: float64(n)}.Quantile((1 + Confidence) / 2)
		l = Line{around(a, t*errA), around(b, t*errB)}
	}
	return l
}

// Rising returns the line of LeastSquares, or where that falls the level one for which the sum is
// least: a longer message takes no less.
func Rising(points []Point) Line {
	l := LeastSquares(points)
	if l.Slope.Value >= 0 {
		return l
	}
	y, w := make([]float64, len(points)), make([]float64, len(points))
	sum := 0.0
	for i := range points {
		y[i], w[i] = points[i].Y.Value, points[i].weight()
		sum += w[i]
	}
	mean, squares := stat.Mean(y, w), 0.0
	for i := range y {
		squares += w[i] * (y[i] - mean) * (y[i] - mean)
	}
	n := float64(len(points) - 1)
	t := distuv.StudentsT{Sigma: 1, Nu: n}.Quantile((1 + Confidence) / 2)
	return Line{around(mean, t*math.Sqrt(squares/n/sum)), Exactly(0)}
}

func around(v, half float64) Interval { return Interval{v, v - half, v + half} }

// errorsOf returns the standard errors of intercept and slope.
func errorsOf(l *Line, x, y, w []float64) (intercept, slope float64) {
	sum, squares := 0.0, 0.0
	for i := range x {
		r := y[i] - l.At(x[i])
		sum += w[i]
		squares += w[i] * r * r
	}
	middle, spread := stat.Mean(x, w), 0.0
	for i := range x {
		spread += w[i] * (x[i] - middle) * (x[i] - middle)
	}
	variance := squares / float64(len(x)-2)
	return math.Sqrt(variance * (1/sum + middle*middle/spread)), math.Sqrt(variance / spread)
}
