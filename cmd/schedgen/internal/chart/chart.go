// Package chart draws lines with axes and a legend as SVG.
package chart

import (
	"fmt"
	"image/color"
	"io"
	"math"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/plotter"
	"gonum.org/v1/plot/vg"
)

// Chart is lines over a common axis.
type Chart struct {
	Title string
	X, Y  string // what the axes are, with units
	LogX  bool   // logarithmic where all of it is positive and spans more than a factor of ten
	Lines []Line
}

// Line is one line; Color counts from 0, and a line of the same colour that is Thin
// belongs to it and has no place in the legend.
type Line struct {
	Name  string
	Color int
	Thin  bool
	At    []Point
}

// Point is a point of a line.
type Point struct{ X, Y float64 }

// palette is that of Okabe and Ito, which people tell apart who do not see all colours.
var palette = []color.RGBA{
	{0, 114, 178, 255}, {213, 94, 0, 255}, {0, 158, 115, 255}, {204, 121, 167, 255},
	{86, 180, 233, 255}, {230, 159, 0, 255}, {0, 0, 0, 255},
}

// The picture's size, in points.
const width, height = 720, 432

// Write draws c. Equal charts give equal bytes.
func Write(w io.Writer, c Chart) error {
	p := plot.New()
	p.Title.Text, p.X.Label.Text, p.Y.Label.Text = c.Title, c.X, c.Y
	p.Legend.Top, p.Legend.Left = true, true
	p.Y.Min = 0
	if c.LogX && c.wide() {
		p.X.Scale, p.X.Tick.Marker = plot.LogScale{}, plot.LogTicks{Prec: -1}
	}
	p.Add(plotter.NewGrid())
	for _, l := range c.Lines {
		if err := add(p, &l); err != nil {
			return fmt.Errorf("draw %s: %w", l.Name, err)
		}
	}
	p.Y.Max *= 1.25 // room for the legend
	to, err := p.WriterTo(vg.Points(width), vg.Points(height), "svg")
	if err == nil {
		_, err = to.WriteTo(w)
	}
	return err
}

func add(p *plot.Plot, l *Line) error {
	if len(l.At) == 0 {
		return nil
	}
	xys := make(plotter.XYs, len(l.At))
	for i, at := range l.At {
		xys[i] = plotter.XY(at)
	}
	line, points, err := plotter.NewLinePoints(xys)
	if err != nil {
		return err
	}
	line.Color = palette[l.Color%len(palette)]
	line.Width = vg.Points(1.5)
	points.Color, points.Radius = line.Color, vg.Points(1.5)
	if l.Thin {
		line.Width, line.Dashes = vg.Points(0.5), []vg.Length{vg.Points(3), vg.Points(2)}
		p.Add(line)
		return nil
	}
	p.Add(line)
	const few = 128
	if len(xys) <= few {
		p.Add(points)
	}
	p.Legend.Add(l.Name, line)
	return nil
}

// wide reports whether a logarithmic axis shows more.
func (c *Chart) wide() bool {
	least, most := math.Inf(1), math.Inf(-1)
	for _, l := range c.Lines {
		for _, at := range l.At {
			least, most = min(least, at.X), max(most, at.X)
		}
	}
	return least > 0 && most > 10*least
}
