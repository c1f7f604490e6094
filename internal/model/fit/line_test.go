package fit

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	_ "github.com/schedgen/schedgen/internal/test/heavy"
)

// TestLeastSquaresOfALine checks that a line is found with any weights.
func TestLeastSquaresOfALine(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		a, b := rapid.Float64Range(0, 1e5).Draw(t, "intercept"), rapid.Float64Range(0, 100).Draw(t, "slope")
		points := make([]Point, rapid.IntRange(2, 20).Draw(t, "points"))
		for i := range points {
			x := float64(int(1) << i)
			half := rapid.Float64Range(0.1, 100).Draw(t, "half")
			points[i] = Point{x, around(a+b*x, half)}
		}
		l := LeastSquares(points)
		require.InDelta(t, a, l.Intercept.Value, 1e-6*(a+b+1))
		require.InDelta(t, b, l.Slope.Value, 1e-6*(a+b+1))
		require.Equal(t, len(points) == 2, math.IsInf(l.Slope.High, 1))
		require.Len(t, Pieces(points), 1)
	})
}

// TestLineIsInItsIntervals checks that 95 % of many intervals of intercept and slope contain the
// true values of the line, with noise that is a part of each value.
func TestLineIsInItsIntervals(t *testing.T) {
	const trials, a, b, noise = 4000, 1000.0, 2.0, 0.05
	r := rand.New(rand.NewPCG(7, 7))
	intercepts, slopes := 0, 0
	for range trials {
		points := make([]Point, 12)
		for i := range points {
			x := float64(int(1) << i)
			points[i] = Point{x, Exactly((a + b*x) * (1 + noise*r.NormFloat64()))}
		}
		l := LeastSquares(points)
		if l.Intercept.Low <= a && a <= l.Intercept.High {
			intercepts++
		}
		if l.Slope.Low <= b && b <= l.Slope.High {
			slopes++
		}
	}
	// Weights are computed from measured values instead of true ones, which costs about one
	// percent.
	require.InDelta(t, Confidence, float64(intercepts)/trials, 0.02)
	require.InDelta(t, Confidence, float64(slopes)/trials, 0.02)
}

// TestRising checks that a line that would fall becomes the weighted mean, with the interval of a
// mean.
func TestRising(t *testing.T) {
	up := []Point{{1, Exactly(10)}, {2, Exactly(20)}, {3, Exactly(30)}}
	require.Equal(t, LeastSquares(up), Rising(up))
	const trials, mean = 2000, 100.0
	r := rand.New(rand.NewPCG(3, 3))
	held, level := 0, 0
	for range trials {
		points := make([]Point, 8)
		for i := range points {
			points[i] = Point{float64(i), Exactly(mean * (1 + 0.02*r.NormFloat64()))}
		}
		l := Rising(points)
		require.GreaterOrEqual(t, l.Slope.Value, 0.0)
		if l.Slope != Exactly(0) {
			continue
		}
		if level++; l.Intercept.Low <= mean && mean <= l.Intercept.High {
			held++
		}
	}
	require.InDelta(t, 0.5, float64(level)/trials, 0.05)
	require.InDelta(t, Confidence, float64(held)/float64(level), 0.03)
	require.Equal(t, Exactly(0), Rising([]Point{{1, Exactly(2)}, {2, Exactly(1)}}).Slope)
}

func TestLeastSquaresOfOnePoint(t *testing.T) {
	l := LeastSquares([]Point{{5, Exactly(3)}})
	require.Equal(t, 3.0, l.At(100))
	require.True(t, math.IsInf(l.Slope.Low, -1))
}

// TestPiecesFindBreaks checks that a line with a step or a bend becomes two lines with the break in
// the right place.
func TestPiecesFindBreaks(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		at := rapid.IntRange(3, 17).Draw(t, "break")
		jump := rapid.Float64Range(2, 50).Draw(t, "jump")
		points := make([]Point, 21)
		for i := range points {
			x := float64(int(1) << i)
			y := 1000 + 0.1*x
			if i >= at {
				y *= jump
			}
			points[i] = Point{x, around(y, y/100)}
		}
		pieces := Pieces(points)
		require.Len(t, pieces, 2, "%+v", pieces)
		for i, want := range []struct {
			from, to int
			start    float64
		}{{0, at, 1000}, {at, 21, 1000 * jump}} {
			p := pieces[i]
			require.True(t, p.Fits)
			require.LessOrEqual(t, p.Worst, 1e-6)
			require.Equal(t, want.from, p.From)
			require.Equal(t, want.to, p.To)
			require.InEpsilon(t, want.start, p.Line.Intercept.Value, 1e-3)
		}
	})
}

// TestPiecesOfNoLine checks that points that no lines fit are not cut. They become one piece that
// says that it does not fit.
func TestPiecesOfNoLine(t *testing.T) {
	points := make([]Point, 21)
	for i := range points {
		points[i] = Point{float64(int(1) << i), Exactly(float64(1 + 1000*(i%2)))}
	}
	pieces := Pieces(points)
	require.Len(t, pieces, 1)
	require.False(t, pieces[0].Fits)
	require.Greater(t, pieces[0].Worst, 0.9)
	for i := range points {
		points[i].Y = around(points[i].Y.Value, 2000) // nothing is known of them
	}
	require.True(t, Pieces(points)[0].Fits)
}
