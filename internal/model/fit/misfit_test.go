package fit

import (
	"math"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

// sizesOf returns sizes whose times are all the given intervals.
func sizesOf(values ...Interval) []Size {
	sizes := make([]Size, len(values))
	for i, v := range values {
		sizes[i] = Size{1 << i, v, v, v, v}
	}
	return sizes
}

// TestStepsFit checks that known times that never fall fit, whatever steps they make.
func TestStepsFit(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var values []Interval
		at := 100.0
		for range rapid.IntRange(1, 20).Draw(t, "sizes") {
			at *= rapid.Float64Range(1, 10).Draw(t, "step")
			values = append(values, around(at, at*rapid.Float64Range(0, 0.99*Known).Draw(t, "half")))
		}
		for _, m := range NewMachine(sizesOf(values...)).Misfits() {
			require.Fail(t, "misfit", "%+v", m)
		}
	})
}

// TestWideIntervalsDoNotFit checks that half an interval may be a quarter of the value, or 20 ns.
func TestWideIntervalsDoNotFit(t *testing.T) {
	require.Empty(t, NewMachine(sizesOf(around(1000, 250), around(1000, 250))).Misfits())
	require.Empty(t, NewMachine(sizesOf(around(0, 20), around(10, 20))).Misfits())
	all := NewMachine(sizesOf(around(1000, 251), around(1000, 250))).Misfits()
	require.Len(t, all, 4)
	for i, q := range Quantities() {
		require.Equal(t, q.Name, all[i].Quantity)
		require.Equal(t, 1, all[i].Bytes)
		require.True(t, all[i].Uncertain)
		require.InDelta(t, 0.251, all[i].Off, 1e-9)
		require.Equal(t, Known, all[i].Allowed)
	}
	few := NewMachine(sizesOf(around(1000, math.Inf(1)))).Misfits()
	require.True(t, math.IsInf(few[0].Off, 1))
}

// TestContradictionsDoNotFit checks a shorter message that took longer. It does not fit the model,
// in which it takes no more time, if the difference is more than its interval and a tenth.
func TestContradictionsDoNotFit(t *testing.T) {
	require.Empty(t, NewMachine(sizesOf(Exactly(1150), Exactly(1000))).Misfits(), "the model has about 1070")
	all := NewMachine(sizesOf(Exactly(1000), Exactly(3000), Exactly(1000), Exactly(4000))).Misfits()
	require.Len(t, all, 4*2)
	for _, m := range all {
		require.False(t, m.Uncertain)
		require.Greater(t, m.Off, m.Allowed)
		require.InDelta(t, Tolerance, m.Allowed, 1e-9)
		require.Contains(t, []int{2, 4}, m.Bytes)
	}
}
