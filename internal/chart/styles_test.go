package chart

import (
	"io"
	"math"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestStyles checks that a line of any style is in the legend, and that dots are drawn if the style
// has them.
func TestStyles(t *testing.T) {
	for style, marks := range map[Style]int{Joined: 4, Dots: 4, Dashed: 0, Rings: 4, Crosses: 4} {
		var svg strings.Builder
		line := Line{Name: "the line", Color: 12, Style: style, At: []Point{{1, 1}, {2, 300}, {3, 1000}}}
		require.NoError(t, Write(&svg, Chart{Y: "time [µs]", LogY: true, Lines: []Line{line}}))
		require.Contains(t, svg.String(), ">the line</text>")
		require.Contains(t, svg.String(), ">time [µs]</text>")
		require.Contains(t, svg.String(), ">1000</text>")
		mark := "<circle "
		if style == Crosses {
			mark = "m0 -7"
		}
		require.Equal(t, marks, strings.Count(svg.String(), mark), "style %d", style) // three points, and one in the legend
	}
}

func TestWriteWithoutLines(t *testing.T) {
	var svg strings.Builder
	require.NoError(t, Write(&svg, Chart{Title: "nothing", LogX: true}))
	require.Contains(t, svg.String(), ">nothing</text>")
}

func TestLogTicks(t *testing.T) {
	var labels []string
	for _, tick := range logTicks(math.Log10(0.04), math.Log10(6)) {
		labels = append(labels, tick.label)
	}
	require.Equal(t, []string{"0.05", "0.1", "0.2", "0.5", "1", "2", "5"}, labels)
}

// TestLinearTicks checks that labels are round, whole if the steps are whole, and neither few nor
// many.
func TestLinearTicks(t *testing.T) {
	labels := func(lo, hi float64) (all []string) {
		for _, tick := range linearTicks(lo, hi) {
			all = append(all, tick.label)
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

// TestLabelsApart checks that labels below a chart are left out where they would overlap.
func TestLabelsApart(t *testing.T) {
	for width, want := range map[float64]string{200: "0 1000 2000 3000", 300: "0 500 1000 1500 2000 2500 3000 3500"} {
		var svg strings.Builder
		hour := Chart{LogY: true, Lines: []Line{{Name: "a", At: []Point{{0, 5}, {3600, 6}}}}}
		require.NoError(t, Panels(&svg, "", 1, width, 150, []Chart{hour}))
		var labels []string
		for _, found := range regexp.MustCompile(`text-anchor="middle">(\d+)<`).FindAllStringSubmatch(svg.String(), -1) {
			labels = append(labels, found[1])
		}
		require.Equal(t, want, strings.Join(labels, " "))
	}
}

func TestPanels(t *testing.T) {
	panel := Chart{Title: "one", LogX: true, LogY: true, At: []float64{2, 8}, Lines: []Line{
		{Name: "a & b", At: []Point{{2, 3}, {8, 5}}, Spread: []Spread{{2, 4}, {5, 5}}}, {Name: "no points"},
	}}
	var svg strings.Builder
	require.NoError(t, Panels(&svg, "µs by ranks", 2, 200, 150, []Chart{panel, panel, panel}))
	require.Contains(t, svg.String(), `width="400" height="322"`)
	require.Equal(t, 1, strings.Count(svg.String(), ">a &amp; b</tspan>"))
	require.Equal(t, 3, strings.Count(svg.String(), ">8</text>"))
	require.Equal(t, 6, strings.Count(svg.String(), "<circle "))
	require.NoError(t, Panels(io.Discard, "none", 2, 200, 150, nil))
	panel.Lines[0].At[0].X = math.Inf(1)
	require.ErrorContains(t, Panels(io.Discard, "", 1, 200, 150, []Chart{panel}), "draw a & b")
}

func TestBars(t *testing.T) {
	var svg strings.Builder
	require.NoError(t, WriteBars(&svg, Bars{Title: "<t>", Unit: "×", One: "one", Series: []Series{{"a", "red", true}, {"b", "blue", false}}, Groups: []Group{
		{"5", "no loss", []Bar{{0, 1.25, "good"}, {1, 0, "bad"}}}, {"15", "no loss", nil}, {"5", "loss", []Bar{{1, 4, "slow"}}},
	}}))
	for text, times := range map[string]int{"<rect ": 3, "×<title>bad</title>": 1, ">1.25</text>": 1, ">no loss</text>": 1, ">5</text>": 2, ">&lt;t&gt;</text>": 1} {
		require.Equal(t, times, strings.Count(svg.String(), text), text)
	}
	require.NoError(t, WriteBars(io.Discard, Bars{}))
}
