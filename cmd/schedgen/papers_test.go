package main

import (
	"bytes"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/schedgen/schedgen/cmd/schedgen/internal/chart"
	"github.com/schedgen/schedgen/sim/papers"
)

// TestFiguresAreDrawn: every figure has a picture, whose legend has every series that
// has something to show.
func TestFiguresAreDrawn(t *testing.T) {
	for _, e := range papers.List() {
		f, err := e.Make(t.Context(), papers.Options{Seed: 1, Quick: true})
		require.NoError(t, err)
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
