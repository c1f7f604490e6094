package fit

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"
)

// distributions are distributions of times as on real machines, with their medians.
var distributions = []struct {
	name   string
	draw   func(*rand.Rand) float64
	median float64
}{
	{"uniform", func(r *rand.Rand) float64 { return r.Float64() }, 0.5},
	{"exponential", func(r *rand.Rand) float64 { return r.ExpFloat64() }, math.Ln2},
	{"log-normal", func(r *rand.Rand) float64 { return math.Exp(2 * r.NormFloat64()) }, 1},
	{"one in ten is a hundred times as long", func(r *rand.Rand) float64 {
		if x := r.Float64(); x > 0.9 {
			return 100 * x
		} else {
			return x
		}
	}, 0.5},
}

// TestMedianIsInItsInterval checks that the stated share of many intervals contains the median.
// With 25 samples that is exactly 95.7 %.
func TestMedianIsInItsInterval(t *testing.T) {
	const trials, n = 4000, 25
	for seed, of := range distributions {
		r := rand.New(rand.NewPCG(uint64(seed), 1))
		held := 0
		for range trials {
			samples := make([]float64, n)
			for i := range samples {
				samples[i] = of.draw(r)
			}
			if i := Median(samples); i.Low <= of.median && of.median <= i.High {
				held++
			}
		}
		// four standard errors
		require.InDelta(t, 0.957, float64(held)/trials, 0.012, "%s, seed %d", of.name, seed)
	}
}

// TestTail checks the ranks of the ends against tables of order statistics.
func TestTail(t *testing.T) {
	for n, want := range map[int]int{0: 0, 1: 0, 5: 0, 6: 1, 8: 1, 9: 2, 10: 2, 20: 6, 25: 8, 50: 18, 100: 40} {
		require.Equal(t, want, tail(n), "%d samples", n)
	}
}

func TestMedian(t *testing.T) {
	require.Equal(t, Interval{2, math.Inf(-1), math.Inf(1)}, Median([]float64{3, 1, 2}))
	require.Equal(t, Interval{3.5, 1, 6}, Median([]float64{6, 5, 4, 3, 2, 1}))
	require.True(t, math.IsNaN(Median(nil).Value))
	require.Equal(t, Interval{5, 5, 5}, Exactly(5))
}

func TestIntervals(t *testing.T) {
	a, b := Interval{10, 8, 13}, Interval{4, 3, 6}
	require.Equal(t, Interval{6, 2, 10}, a.less(b))
	require.Equal(t, Interval{5, 4, 6.5}, a.scaled(0.5))
	require.Equal(t, Interval{10, 9, 13}, a.atLeast(9))
	require.Equal(t, 2.5, a.Half())
	require.True(t, a.Settled(0.25, 0))
	require.False(t, a.Settled(0.24, 2.4))
	require.True(t, a.Settled(0, 2.5))
	require.False(t, Median([]float64{1, 2}).Settled(0.5, 1e9))
}
