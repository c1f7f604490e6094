package chart

import (
	"math"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestStyles checks that a line of any style is in the legend, and that dots are drawn if the style
// has them.
func TestStyles(t *testing.T) {
	for style, marks := range map[Style]int{Joined: 4, Dots: 4, Dashed: 0, Rings: 4, Crosses: 4} {
		var svg, none strings.Builder
		line := Line{Name: "the line", Color: 12, Style: style, At: []Point{{1, 1}, {2, 300}, {3, 1000}}}
		require.NoError(t, Write(&svg, Chart{Y: "time [µs]", LogY: true, Lines: []Line{line}}))
		line.At, line.Style = line.At[:2], Dashed
		require.NoError(t, Write(&none, Chart{Y: "time [µs]", LogY: true, Lines: []Line{line}}))
		require.Contains(t, svg.String(), ">the line</text>")
		require.Contains(t, svg.String(), ">time [µs]</text>")
		require.Contains(t, svg.String(), ">1000</text>")
		arcs := strings.Count(svg.String(), "A") - strings.Count(none.String(), "A")
		if style == Crosses || style == Dashed {
			require.Zero(t, arcs, "style %d", style)
			continue
		}
		require.GreaterOrEqual(t, arcs, marks, "style %d", style) // three points, and one in the legend
	}
}

func TestWriteWithoutLines(t *testing.T) {
	var svg strings.Builder
	require.NoError(t, Write(&svg, Chart{Title: "nothing", LogX: true}))
	require.Contains(t, svg.String(), ">nothing</text>")
}

func TestLogTicks(t *testing.T) {
	var labels []string
	for _, tick := range (logTicks{}).Ticks(math.Log10(0.04), math.Log10(6)) {
		labels = append(labels, tick.Label)
	}
	require.Equal(t, []string{"0.05", "0.1", "0.2", "0.5", "1", "2", "5"}, labels)
}

// TestLinearTicks checks that labels are round, whole if the steps are whole, and neither few nor
// many.
func TestLinearTicks(t *testing.T) {
	labels := func(lo, hi float64) (all []string) {
		for _, tick := range (linearTicks{}).Ticks(lo, hi) {
			all = append(all, tick.Label)
		}
		return all
	}
	require.Equal(t, []string{"0", "5", "10", "15", "20", "25"}, labels(0, 27.2))
	require.Equal(t, []string{"0", "100", "200", "300", "400", "500"}, labels(0, 532))
	require.Equal(t, []string{"0.0", "0.2", "0.4", "0.6", "0.8", "1.0"}, labels(0, 1.04))
	require.Equal(t, []string{"8", "9", "10", "11", "12", "13", "14"}, labels(7.7, 14.2))
	require.Empty(t, labels(1, 1))
	for hi := 0.001; hi < 1e7; hi *= 1.1 {
		n := len(labels(0, hi))
		require.True(t, n >= 5 && n <= 11, "%v: %d", hi, n)
	}
}
