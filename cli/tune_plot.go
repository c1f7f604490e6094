package cli

import (
	"fmt"
	"io"

	"github.com/schedgen/schedgen/internal/chart"
)

// drawTuned draws the times of messages: a dot for each median, thin lines through the ends of the
// intervals, and dashed lines for the fitted lines.
func drawTuned(w io.Writer, t *tuned) error {
	c := chart.Chart{
		Title: fmt.Sprintf("messages between 2 ranks over %s%s", t.link.Transport, keyOf(&t.link).suffix()),
		X:     "bytes", Y: "time, µs", LogX: true, LogY: true,
	}
	for color, q := range quantities(t.machine) {
		dots := chart.Line{Name: q.Name, Color: color, Style: chart.Dots}
		low := chart.Line{Color: color, Thin: true}
		high := low
		add := func(l *chart.Line, bytes int, ns float64) {
			if ns > 0 { // the axis is logarithmic
				l.At = append(l.At, chart.Point{X: float64(bytes), Y: ns / 1e3})
			}
		}
		for i := range t.machine.Sizes {
			s := &t.machine.Sizes[i]
			v := q.Of(s)
			add(&dots, s.Bytes, v.Value)
			add(&low, s.Bytes, v.Low)
			add(&high, s.Bytes, v.High)
		}
		c.Lines = append(c.Lines, dots, low, high)
		for i := range q.pieces {
			c.Lines = append(c.Lines, t.pieceLine(&q, i, color))
		}
	}
	return chart.Write(w, c)
}

// pieceLine returns the dashed line of a piece. The linear model counts all bytes, LogGP the bytes
// after the first.
func (t *tuned) pieceLine(q *quantity, i, color int) chart.Line {
	p := &q.pieces[i]
	line := chart.Line{Name: q.Name + ", fitted", Color: color, Style: chart.Dashed}
	if len(q.pieces) > 1 {
		line.Name = fmt.Sprintf("%s, from %v", q.Name, byteSize(t.machine.Sizes[p.From].Bytes))
	}
	first := 1
	if q.start == "t0" {
		first = 0
	}
	for k := p.From; k < p.To; k++ {
		bytes := t.machine.Sizes[k].Bytes
		if ns := p.Line.At(float64(bytes - first)); ns > 0 {
			line.At = append(line.At, chart.Point{X: float64(bytes), Y: ns / 1e3})
		}
	}
	return line
}
