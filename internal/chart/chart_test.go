package chart_test

import (
	"encoding/xml"
	"errors"
	"io"
	"math"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/schedgen/schedgen/internal/chart"
)

// texts returns the texts of a picture, which must be XML.
func texts(t *testing.T, svg string) string {
	var all []string
	for d := xml.NewDecoder(strings.NewReader(svg)); ; {
		token, err := d.Token()
		if errors.Is(err, io.EOF) {
			return strings.Join(all, "|")
		}
		require.NoError(t, err)
		if text, is := token.(xml.CharData); is {
			all = append(all, strings.TrimSpace(string(text)))
		}
	}
}

func TestPicture(t *testing.T) {
	c := chart.Chart{Title: "of <tests>", X: "ranks", Y: "time, µs", LogX: true, Lines: []chart.Line{
		{Name: "median", At: []chart.Point{{2, 1}, {64, 6}, {4096, 12}}},
		{Name: "most", Thin: true, At: []chart.Point{{2, 2}, {4096, 20}}},
		{Name: "nothing"},
	}}
	var first, second strings.Builder
	require.NoError(t, chart.Write(&first, c))
	require.NoError(t, chart.Write(&second, c))
	require.Equal(t, first.String(), second.String())
	says := texts(t, first.String())
	for _, text := range []string{"of <tests>", "ranks", "time, µs", "median", "1000"} {
		require.Contains(t, says, text)
	}
	require.NotContains(t, says, "most", "thin lines belong to others")
	require.NotContains(t, says, "nothing")
	c.Lines[0].At[0].Y = math.NaN()
	require.ErrorContains(t, chart.Write(io.Discard, c), "draw median")
}
