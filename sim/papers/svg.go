package papers

import (
	"image/color"
	"io"
	"math"
	"slices"
	"strconv"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/plotter"
	"gonum.org/v1/plot/text"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
	"gonum.org/v1/plot/vg/vgsvg"
)

// Sizes of a picture; the legend stands to the right of the curves.
const (
	pictureWidth  = 20 * vg.Centimeter
	pictureHeight = 9 * vg.Centimeter
	legendWidth   = 6.4 * vg.Centimeter
)

// palette are colours that people tell apart whose eyes do not see them all
// (Okabe and Ito). Series of one name share one.
var palette = []color.Color{
	color.RGBA{0, 114, 178, 255}, color.RGBA{213, 94, 0, 255}, color.RGBA{0, 158, 115, 255}, color.RGBA{204, 121, 167, 255},
	color.RGBA{86, 180, 233, 255}, color.RGBA{230, 159, 0, 255}, color.RGBA{0, 0, 0, 255}, color.RGBA{120, 120, 120, 255},
}

// WriteSVG draws the figure: what the paper states as large rings, models as
// dashed lines, simulations as dots, on a line where that is no model's, and runs
// as crosses on a line.
func (f *Figure) WriteSVG(w io.Writer) error {
	p := plot.New()
	p.Title.Text = f.ID + "  " + f.Title
	p.X.Label.Text, p.Y.Label.Text = f.X.String(), f.Y.String()
	p.Title.Padding = vg.Millimeter * 2
	f.scale(&p.X, f.X, func(q Point) float64 { return q.X })
	f.scale(&p.Y, f.Y, func(q Point) float64 { return q.Y })
	legend := plot.NewLegend()
	legend.Left, legend.Top, legend.Padding = true, true, vg.Millimeter/2
	for _, style := range []*text.Style{
		&p.Title.TextStyle, &p.X.Label.TextStyle, &p.Y.Label.TextStyle, &p.X.Tick.Label, &p.Y.Tick.Label, &legend.TextStyle,
	} {
		style.Font.Variant = "Sans"
		style.Font.Size = 10
	}
	legend.TextStyle.Font.Size = 8.5
	grid := plotter.NewGrid()
	grid.Horizontal.Color, grid.Vertical.Color = color.Gray{220}, color.Gray{220}
	p.Add(grid)
	for i := range f.Series {
		if err := f.draw(p, &legend, &f.Series[i]); err != nil {
			return err
		}
	}
	canvas := vgsvg.New(pictureWidth, pictureHeight)
	all := draw.New(canvas)
	p.Draw(draw.Crop(all, 0, -legendWidth, 0, -vg.Millimeter))
	legend.Draw(draw.Crop(all, pictureWidth-legendWidth+vg.Millimeter*3, 0, 0, -vg.Centimeter))
	_, err := canvas.WriteTo(w)
	return err
}

// scale sets up an axis. Linear ones begin at 0. What is drawn by its logarithm is
// drawn as that on a linear axis: the library centres no label on another.
func (f *Figure) scale(a *plot.Axis, of Axis, value func(Point) float64) {
	lo, hi := math.Inf(1), math.Inf(-1)
	for i := range f.Series {
		for _, q := range f.drawn(&f.Series[i]) {
			lo, hi = min(lo, value(q)), max(hi, value(q))
		}
	}
	if of.Log {
		a.Tick.Marker = logTicks{}
		a.Min, a.Max = lo-0.03, hi+0.03
		return
	}
	a.Min, a.Max = min(0, lo), hi*1.04
}

// drawn returns the points of a series that can be drawn, as they are drawn.
func (f *Figure) drawn(s *Series) []Point {
	var points []Point
	for _, p := range s.Points {
		if f.X.Log {
			p.X = math.Log10(p.X)
		}
		if f.Y.Log {
			p.Y = math.Log10(p.Y)
		}
		if finite(p.X) && finite(p.Y) {
			points = append(points, p)
		}
	}
	return points
}

func finite(v float64) bool { return !math.IsNaN(v) && !math.IsInf(v, 0) }

func (f *Figure) draw(p *plot.Plot, legend *plot.Legend, s *Series) error {
	points := plotter.XYs{}
	for _, q := range f.drawn(s) {
		points = append(points, plotter.XY{X: q.X, Y: q.Y})
	}
	if len(points) == 0 {
		return nil
	}
	line, marks, err := plotter.NewLinePoints(points)
	if err != nil {
		return err
	}
	line.Color, marks.Color = f.color(s), f.color(s)
	line.Width, marks.Radius = vg.Points(1.2), vg.Points(2)
	label := s.Kind.String() + ": " + s.Name
	switch s.Kind {
	case Paper:
		marks.Shape, marks.Radius = draw.RingGlyph{}, vg.Points(5)
	case Model:
		line.Dashes = []vg.Length{vg.Points(5), vg.Points(3)}
		p.Add(line)
		legend.Add(label, line)
		return nil
	case Simulation:
		marks.Shape = draw.CircleGlyph{}
		if !f.modelled(s.Name) {
			p.Add(line)
		}
	case Run:
		marks.Shape, marks.Radius = draw.CrossGlyph{}, vg.Points(3)
		p.Add(line)
	}
	p.Add(marks)
	legend.Add(label, marks)
	return nil
}

// modelled reports whether a model has a curve of this name.
func (f *Figure) modelled(name string) bool {
	return slices.ContainsFunc(f.Series, func(s Series) bool { return s.Kind == Model && s.Name == name })
}

// color returns the colour of the name of a series.
func (f *Figure) color(s *Series) color.Color {
	var names []string
	for i := range f.Series {
		if !slices.Contains(names, f.Series[i].Name) {
			names = append(names, f.Series[i].Name)
		}
	}
	return palette[slices.Index(names, s.Name)%len(palette)]
}

// logTicks marks the powers of ten, and twice and five times these.
type logTicks struct{}

// Ticks returns the ticks between the logarithms of two values.
func (logTicks) Ticks(lo, hi float64) []plot.Tick {
	var ticks []plot.Tick
	for power := math.Floor(lo); power <= hi; power++ {
		for _, digit := range []float64{1, 2, 5} {
			at := power + math.Log10(digit)
			if at < lo || at > hi {
				continue
			}
			tick := plot.Tick{Value: at}
			if digit == 1 || hi-lo < 2.5 {
				tick.Label = strconv.FormatFloat(math.Pow(10, power)*digit, 'f', max(0, -int(power)), 64)
			}
			ticks = append(ticks, tick)
		}
	}
	return ticks
}
