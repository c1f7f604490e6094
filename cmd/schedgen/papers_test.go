package main

import (
	"bytes"
	"encoding/xml"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/schedgen/schedgen/cmd/schedgen/internal/chart"
	"github.com/schedgen/schedgen/sim/papers"
)

// TestFiguresAreDrawn draws every figure. The legend has every series that has points.
func TestFiguresAreDrawn(t *testing.T) {
	for _, e := range papers.List() {
		f, err := e.Make(t.Context(), papers.Options{Seed: 1, Quick: true})
		require.NoError(t, err)
		if f.Channels {
			requireChannels(t, f)
			continue
		}
		c := chartOf(f)
		var svg bytes.Buffer
		require.NoError(t, chart.Write(&svg, c), e.ID)
		shown := 0
		for _, l := range c.Lines {
			if len(l.At) > 0 {
				shown++
				require.Contains(t, svg.String(), ">"+l.Name+"</text>", e.ID)
			}
		}
		require.Positive(t, shown, e.ID)
	}
}

// requireChannels requires a node for each number, an arrow for each channel and an arrow for each
// channel that a message takes.
func requireChannels(t *testing.T, f *papers.Figure) {
	t.Helper()
	var svg bytes.Buffer
	require.NoError(t, drawFigure(&svg, f))
	require.NoError(t, xml.Unmarshal(svg.Bytes(), new(struct{})), "%s is XML", f.ID)
	arrows, nodes := 0, map[float64]bool{}
	for _, s := range f.Series {
		arrows += len(s.Points)
		for _, at := range s.Points {
			nodes[at.X], nodes[at.Y] = true, true
		}
	}
	require.Equal(t, arrows, strings.Count(svg.String(), "marker-end="), f.ID)
	require.Equal(t, len(nodes), strings.Count(svg.String(), `rx="5"`), f.ID)
}
