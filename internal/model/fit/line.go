package fit

import (
	"math"

	"gonum.org/v1/gonum/stat"
	"gonum.org/v1/gonum/stat/distuv"
)

// Point is a measurement Y at X.
type Point struct {
	X float64
	Y Interval
}

// Line is the line Intercept + Slope·X.
type Line struct{ Intercept, Slope Interval }

// At returns the line's value at x.
func (l *Line) At(x float64) float64 { return l.Intercept.Value + l.Slope.Value*x }

// Tolerance is the part of a measured value by which a line may be off, beyond the confidence
// interval, and still fits. No machine is exactly a line: caches, segments and interrupts make
// steps.
const Tolerance = 0.1

// slack returns the distance that a line may have from the point.
func (p *Point) slack() float64 { return p.Y.Half() + Tolerance*math.Abs(p.Y.Value) }

// weight returns the weight of the point. Sizes are powers of each other, so a residual counts as a
// part of the value, and according to how well the value is known.
func (p *Point) weight() float64 {
	half, part := p.Y.Half(), Tolerance*math.Abs(p.Y.Value)
	if math.IsInf(half, 0) || half+part == 0 {
		return 1e-12
	}
	return 1 / (half*half + part*part)
}

// LeastSquares returns the line with the least sum of weighted squares of residuals. The intervals
// follow from the residuals. They are Student's, with two degrees of freedom less than points, and
// infinite for one or two points. LeastSquares needs at least one point. One point gives a level
// line.
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

// Rising returns the line of LeastSquares if it does not fall. Otherwise it returns the level line
// with the least sum, because a longer message does not take less time.
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
