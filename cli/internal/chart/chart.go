// Package chart draws curves with axes and a legend as SVG.
package chart

import (
	"fmt"
	"image/color"
	"io"
	"math"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/plotter"
	"gonum.org/v1/plot/text"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
	"gonum.org/v1/plot/vg/vgsvg"
)

// Chart is a set of lines over common axes.
type Chart struct {
	Title string
	X, Y  string // names of the axes, with units
	LogX  bool   // the axis is logarithmic if all values are positive and span more than a factor of ten
	LogY  bool   // as LogX
	CutY  bool   // the axis begins at the least value, not at 0
	Lines []Line
}

// Line is a line of a chart. Color is a number from 0 on. A Thin line accompanies another line of
// the same colour and is not in the legend.
type Line struct {
	Name  string
	Color int
	Thin  bool
	Style Style
	At    []Point
}

// Style is the look of a line's points.
type Style uint8

// The styles.
const (
	Joined  Style = iota // dots on a line
	Dots                 // dots alone
	Dashed               // a dashed line
	Rings                // large rings alone
	Crosses              // crosses on a line
)

// Point is a point of a line.
type Point struct{ X, Y float64 }

// Black is the number of the colour black.
const Black = 6

// palette is Okabe's and Ito's palette, whose colours colour-blind people can tell apart.
var palette = []color.RGBA{
	{0, 114, 178, 255}, {213, 94, 0, 255}, {0, 158, 115, 255}, {204, 121, 167, 255},
	{86, 180, 233, 255}, {230, 159, 0, 255}, {0, 0, 0, 255}, {120, 120, 120, 255},
}

// The size of the picture. The legend is to the right of the curves.
const (
	width       = 20 * vg.Centimeter
	height      = 9 * vg.Centimeter
	legendWidth = 6.4 * vg.Centimeter
)

// Write draws c. Equal charts give equal bytes.
func Write(w io.Writer, c Chart) error {
	p, legend := plot.New(), plot.NewLegend()
	p.Title.Text, p.X.Label.Text, p.Y.Label.Text = c.Title, c.X, c.Y
	p.Title.Padding, p.X.Padding = vg.Points(6), vg.Points(4)
	legend.Left, legend.Top, legend.Padding = true, true, vg.Millimeter/2
	setFonts(p, &legend)
	logX := c.LogX && c.wide(func(at Point) float64 { return at.X })
	logY := c.LogY && c.wide(func(at Point) float64 { return at.Y })
	grid := plotter.NewGrid()
	grid.Horizontal.Color, grid.Vertical.Color = color.Gray{220}, color.Gray{220}
	p.Add(grid)
	for i := range c.Lines {
		if err := add(p, &legend, &c.Lines[i], logX, logY); err != nil {
			return fmt.Errorf("draw %s: %w", c.Lines[i].Name, err)
		}
	}
	setScale(&p.X, logX, false)
	setScale(&p.Y, logY, c.CutY)
	canvas := vgsvg.New(width, height)
	all := draw.New(canvas)
	p.Draw(draw.Crop(all, 2*vg.Millimeter, -legendWidth, 0, -vg.Millimeter))
	legend.Draw(draw.Crop(all, width-legendWidth+vg.Millimeter*3, 0, 0, -vg.Centimeter))
	_, err := canvas.WriteTo(w)
	return err
}

func setFonts(p *plot.Plot, legend *plot.Legend) {
	for _, style := range []*text.Style{
		&p.Title.TextStyle, &p.X.Label.TextStyle, &p.Y.Label.TextStyle, &p.X.Tick.Label, &p.Y.Tick.Label, &legend.TextStyle,
	} {
		style.Font.Variant, style.Font.Size = "Sans", 10
	}
	legend.TextStyle.Font.Size = 8.5
}

// ring draws a circle with a line, which stays visible behind dots.
type ring struct{}

// DrawGlyph draws the circle.
func (ring) DrawGlyph(c *draw.Canvas, style draw.GlyphStyle, at vg.Point) {
	c.SetLineStyle(draw.LineStyle{Color: style.Color, Width: vg.Points(1.4)})
	var path vg.Path
	path.Move(vg.Point{X: at.X + style.Radius, Y: at.Y})
	path.Arc(at, style.Radius, 0, 2*math.Pi)
	path.Close()
	c.Stroke(path)
}

// setScale makes an axis begin at 0, unless it is cut, and extend a little beyond the curves. A
// logarithmic axis is drawn as a linear axis of logarithms, because the library centres labels only
// on linear axes.
func setScale(a *plot.Axis, log, cut bool) {
	switch {
	case log:
		a.Tick.Marker = logTicks{}
		a.Min, a.Max = a.Min-0.03, a.Max+0.03
		return
	case cut:
		margin := 0.04 * (a.Max - a.Min)
		a.Min, a.Max = a.Min-margin, a.Max+margin
	default:
		a.Min, a.Max = min(0, a.Min), a.Max*1.04
	}
	a.Tick.Marker = linearTicks{}
}

func add(p *plot.Plot, legend *plot.Legend, l *Line, logX, logY bool) error {
	if len(l.At) == 0 {
		return nil
	}
	xys := make(plotter.XYs, len(l.At))
	for i, at := range l.At {
		xys[i] = plotter.XY{X: scaled(at.X, logX), Y: scaled(at.Y, logY)}
	}
	line, marks, err := plotter.NewLinePoints(xys)
	if err != nil {
		return err
	}
	line.Color, marks.Color = palette[l.Color%len(palette)], palette[l.Color%len(palette)]
	line.Width, marks.Radius, marks.Shape = vg.Points(1.2), vg.Points(2), draw.CircleGlyph{}
	if l.Thin {
		line.Width, line.Dashes = vg.Points(0.5), []vg.Length{vg.Points(3), vg.Points(2)}
		p.Add(line)
		return nil
	}
	switch l.Style {
	case Dashed:
		line.Dashes = []vg.Length{vg.Points(5), vg.Points(3)}
		p.Add(line)
		legend.Add(l.Name, line)
		return nil
	case Rings:
		marks.Shape, marks.Radius = ring{}, vg.Points(5)
	case Crosses:
		marks.Shape, marks.Radius = draw.CrossGlyph{}, vg.Points(3)
		p.Add(line)
	case Joined:
		p.Add(line)
		const few = 128
		if len(xys) > few {
			legend.Add(l.Name, line)
			return nil
		}
	}
	p.Add(marks)
	legend.Add(l.Name, marks)
	return nil
}

func scaled(v float64, log bool) float64 {
	if log {
		return math.Log10(v)
	}
	return v
}

// wide reports whether the values are positive and span more than a factor of ten, so that a
// logarithmic axis is better.
func (c *Chart) wide(value func(Point) float64) bool {
	least, most := math.Inf(1), math.Inf(-1)
	for _, l := range c.Lines {
		for _, at := range l.At {
			least, most = min(least, value(at)), max(most, value(at))
		}
	}
	return least > 0 && most > 10*least
}
