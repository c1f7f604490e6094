package fit

import (
	"math"
	"slices"
	"sort"

	"gonum.org/v1/gonum/stat/distuv"
)

// Interval is an estimate with the ends of its confidence interval. An end is infinite if the
// samples do not determine it.
type Interval struct{ Value, Low, High float64 }

// Exactly returns the interval of a known value.
func Exactly(v float64) Interval { return Interval{v, v, v} }

// Half returns half the width of the interval.
func (i Interval) Half() float64 { return (i.High - i.Low) / 2 }

// Settled reports whether half the width is at most the given part of the value, or at most most.
func (i Interval) Settled(part, most float64) bool {
	return i.Half() <= max(part*math.Abs(i.Value), most)
}

// scaled returns the interval multiplied by a positive factor.
func (i Interval) scaled(by float64) Interval { return Interval{i.Value * by, i.Low * by, i.High * by} }

// plus returns the interval moved by v.
func (i Interval) plus(v float64) Interval { return Interval{i.Value + v, i.Low + v, i.High + v} }

// less returns an interval of the difference of i and j. Its ends are the extreme differences.
func (i Interval) less(j Interval) Interval {
	return Interval{i.Value - j.Value, i.Low - j.High, i.High - j.Low}
}

// atLeast raises values below v to v.
func (i Interval) atLeast(v float64) Interval {
	return Interval{max(i.Value, v), max(i.Low, v), max(i.High, v)}
}

// Median returns the median of samples, for any distribution. With fewer than 6 samples its ends
// are infinite. Median sorts the samples.
func Median(samples []float64) Interval {
	slices.Sort(samples)
	return MedianOf(len(samples), func(k int) float64 { return samples[k] })
}

// MedianOf returns the median of n samples. at returns sample k in ascending order, counted from 0.
// The ends are order statistics: the median is below the k-th of n samples with the probability
// that a coin falls heads less than k times (David and Nagaraja, Order Statistics, section 7.1).
func MedianOf(n int, at func(k int) float64) Interval {
	if n == 0 {
		return Interval{math.NaN(), math.Inf(-1), math.Inf(1)}
	}
	i := Interval{(at((n-1)/2) + at(n/2)) / 2, math.Inf(-1), math.Inf(1)}
	if k := tail(n); k > 0 {
		i.Low, i.High = at(k-1), at(n-k)
	}
	return i
}

// tail returns the largest k such that the median is between the k-th lowest and the k-th highest
// of n samples with probability Confidence. It returns 0 if there is none.
func tail(n int) int {
	coin := distuv.Binomial{N: float64(n), P: 0.5}
	return sort.Search(n/2, func(k int) bool { return 2*coin.CDF(float64(k)) > 1-Confidence })
}
