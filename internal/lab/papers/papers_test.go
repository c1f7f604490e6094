package papers

import (
	"bytes"
	"encoding/xml"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/schedgen/schedgen/internal/chart"
	"github.com/schedgen/schedgen/internal/model/papers"
	"github.com/schedgen/schedgen/internal/test/heavy"
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

// slowFigures are simulated for a second or two each.
var slowFigures = []string{"000/second-stage", "000/delay-random", "000/delay-root-first", "000/delay-one-late", "000/penalty", "001/depth", "001/messages", "002/loss"}

// TestStoredFigures compares the figures of docs/papers with what the verb papers draws. The slow
// ones need SCHEDGEN_HEAVY=1.
func TestStoredFigures(t *testing.T) {
	t.Parallel()
	ids := map[string]bool{}
	for _, e := range papers.List() {
		ids[e.ID] = true
		if slices.Contains(slowFigures, e.ID) && !heavy.Tests() {
			continue
		}
		t.Run(e.ID, func(t *testing.T) {
			t.Parallel()
			f, err := e.Make(t.Context(), papers.Options{Seed: 1})
			require.NoError(t, err)
			requireTrueLines(t, f)
			var drawn bytes.Buffer
			require.NoError(t, drawFigure(&drawn, f))
			stored, err := os.ReadFile(filepath.Join("..", "..", "..", "docs", "papers", strings.ReplaceAll(e.ID, "/", "-")+".svg"))
			require.NoError(t, err)
			require.True(t, bytes.Equal(stored, drawn.Bytes()), "the stored figure is another one: schedlab papers --figure %s --out docs/papers", e.ID)
		})
	}
	for _, id := range slowFigures {
		require.True(t, ids[id], "there is no figure %s", id)
	}
}

// requireTrueLines requires that no line crosses whole numbers of an axis of whole numbers for which
// there is no value. A simulation that is dots beside such a line is modelled at each of them.
func requireTrueLines(t *testing.T, f *papers.Figure) {
	t.Helper()
	if !f.X.Whole || f.Channels {
		return
	}
	for _, l := range chartOf(f).Lines {
		for i := 1; i < len(l.At) && (l.Style == chart.Dashed || l.Style == chart.Joined); i++ {
			require.LessOrEqual(t, l.At[i].X, l.At[i-1].X+1, "%s: %s", f.ID, l.Name)
		}
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
