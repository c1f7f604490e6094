package chart

import (
	"bytes"
	"encoding/xml"
	"errors"
	"io"
	"math"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// words returns the text of a picture, which must be XML.
func words(t *testing.T, c Chart) string {
	t.Helper()
	var svg, again bytes.Buffer
	require.NoError(t, Write(&svg, c))
	require.NoError(t, Write(&again, c))
	require.Equal(t, svg.String(), again.String())
	var text strings.Builder
	for d := xml.NewDecoder(&svg); ; {
		token, err := d.Token()
		if errors.Is(err, io.EOF) {
			return text.String()
		}
		require.NoError(t, err)
		if c, ok := token.(xml.CharData); ok {
			text.Write(append(c, '\n'))
		}
	}
}

// TestWrite: title, axes, ticks and legend are there, whatever the style.
func TestWrite(t *testing.T) {
	c := Chart{Title: "time of it", X: "ranks", Y: "time [µs]", LogY: true}
	for style := Joined; style <= Crosses; style++ {
		c.Lines = append(c.Lines, Line{Name: "line " + string('a'+rune(style)), Color: int(style) * 5, Style: style, At: []Point{{1, 1}, {2, 300}, {3, 1000}}})
	}
	c.Lines = append(c.Lines, Line{Name: "thin", Thin: true, At: []Point{{1, 1}}}, Line{Name: "empty"})
	got := words(t, c)
	for _, want := range []string{"time of it", "ranks", "time [µs]", "line a", "line e", "1000"} {
		require.Contains(t, got, want)
	}
	require.NotContains(t, got, "thin")
	require.NotContains(t, got, "empty")
}

func TestWriteWithoutLines(t *testing.T) {
	require.Contains(t, words(t, Chart{Title: "nothing"}), "nothing")
}

func TestWriteWhatIsNoNumber(t *testing.T) {
	err := Write(io.Discard, Chart{Lines: []Line{{Name: "odd", At: []Point{{1, math.NaN()}}}}})
	require.ErrorContains(t, err, "draw odd")
}

func TestLogTicks(t *testing.T) {
	var labels []string
	for _, tick := range (logTicks{}).Ticks(math.Log10(0.04), math.Log10(6)) {
		labels = append(labels, tick.Label)
	}
	require.Equal(t, []string{"0.05", "0.1", "0.2", "0.5", "1", "2", "5"}, labels)
}
