package papers

import (
	"io"
	"math"
	"slices"

	"github.com/schedgen/schedgen/internal/chart"
	"github.com/schedgen/schedgen/internal/model/papers"
)

// drawFigure draws a figure: a chart of its series, or a picture of its channels.
func drawFigure(w io.Writer, f *papers.Figure) error {
	if f.Channels {
		return drawChannels(w, f)
	}
	return chart.Write(w, chartOf(f))
}

// chartOf returns the chart of a figure. Values of the paper are rings, models are dashed lines,
// simulations are dots, and runs are crosses on a line. The dots are joined if there is no model of
// the same name. A series that leaves out whole numbers of such an axis is dots, because a line
// would tell values between them. Series of one name share a colour. A series that only the paper has is black.
func chartOf(f *papers.Figure) chart.Chart {
	c := chart.Chart{Title: f.ID + "  " + f.Title, X: f.X.String(), Y: f.Y.String(), LogX: f.X.Log, LogY: f.Y.Log, CutY: f.Y.Cut}
	var names []string
	for i := range f.Series {
		s := &f.Series[i]
		if !slices.Contains(names, s.Name) {
			names = append(names, s.Name)
		}
		line := chart.Line{Name: s.Kind.String() + ": " + s.Name, Color: slices.Index(names, s.Name), Style: styleOf(f, s)}
		others := func(o papers.Series) bool { return o.Name == s.Name && o.Kind != s.Kind }
		if s.Kind == papers.Paper && !slices.ContainsFunc(f.Series, others) {
			line.Color = chart.Black
		}
		for _, p := range s.Points {
			if !math.IsNaN(p.Y) {
				line.At = append(line.At, chart.Point(p))
			}
		}
		c.Lines = append(c.Lines, line)
	}
	return c
}

func styleOf(f *papers.Figure, s *papers.Series) chart.Style {
	switch s.Kind {
	case papers.Paper:
		return chart.Rings
	case papers.Run:
		return chart.Crosses
	}
	if f.X.Whole && s.Gapped() {
		return chart.Dots
	}
	if s.Kind == papers.Model {
		return chart.Dashed
	}
	modelled := func(m papers.Series) bool { return m.Kind == papers.Model && m.Name == s.Name }
	if slices.ContainsFunc(f.Series, modelled) {
		return chart.Dots
	}
	return chart.Joined
}
