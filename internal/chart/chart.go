// Package chart draws curves and bars with axes and a legend as SVG. Equal data give equal bytes.
package chart

import (
	"bytes"
	"fmt"
	"io"
	"math"
)

// Chart is a set of lines over common axes.
type Chart struct {
	Title string
	X, Y  string    // names of the axes, with units
	LogX  bool      // the axis is logarithmic if all values are positive, and At is set or they span more than a factor of ten
	LogY  bool      // as LogX
	CutY  bool      // the axis begins at the least value, not at 0
	At    []float64 // where the X axis has labels; nil: at round numbers
	Lines []Line
}

// Line is a line of a chart. Color is a number from 0 on. A Thin line accompanies another line of
// the same colour and is not in the legend.
type Line struct {
	Name   string
	Color  int
	Thin   bool
	Style  Style
	At     []Point
	Spread []Spread // for each point, if any
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

// Spread is the range of the values that a point stands for. A vertical line shows it.
type Spread struct{ Least, Most float64 }

// Black is the number of the colour black.
const Black = 6

// palette is Okabe's and Ito's palette, whose colours colour-blind people can tell apart.
var palette = []string{"#0072b2", "#d55e00", "#009e73", "#cc79a7", "#56b4e9", "#e69f00", "#000000", "#787878"}

// Color returns a colour of the palette by its number.
func Color(n int) string { return palette[n%len(palette)] }

// The size of a chart in pixels. The legend is to the right of the curves.
const (
	width, height  = 756.0, 340.0
	legendWidth    = 242.0
	fontSize       = 13
	legendFontSize = 11
	legendRow      = 17.0
)

// few is the number of points up to which a joined line has dots.
const few = 128

// box is the place of the curves, in pixels.
type box struct{ left, top, right, floor float64 }

// Write draws c.
func Write(w io.Writer, c Chart) error {
	if err := c.check(); err != nil {
		return err
	}
	return WriteSVG(w, width, height, fontSize, func(b *bytes.Buffer) {
		c.draw(b, box{70, 32, width - legendWidth - 10, height - 48})
		c.legend(b, width-legendWidth+8, 44)
	})
}

// Panels draws charts without legends in rows of some columns, each chart of the given size, below a
// line that names the lines of the first.
func Panels(w io.Writer, heading string, columns int, panelWidth, panelHeight float64, all []Chart) error {
	const head = 22.0
	for i := range all {
		if err := all[i].check(); err != nil {
			return err
		}
	}
	rows := (len(all) + columns - 1) / columns
	return WriteSVG(w, panelWidth*float64(columns), panelHeight*float64(rows)+head, 10, func(b *bytes.Buffer) {
		fmt.Fprintf(b, `<text x="10" y="14">%s`, Escape(heading))
		if len(all) > 0 {
			for _, l := range all[0].Lines {
				fmt.Fprintf(b, `<tspan dx="10" fill="%s">%s</tspan>`, Color(l.Color), Escape(l.Name))
			}
		}
		fmt.Fprintln(b, "</text>")
		for i := range all {
			left, top := float64(i%columns)*panelWidth, float64(i/columns)*panelHeight+head
			all[i].draw(b, box{left + 46, top + 24, left + panelWidth - 12, top + panelHeight - 26})
		}
	})
}

// check returns an error for values that cannot be drawn.
func (c *Chart) check() error {
	for _, l := range c.Lines {
		for _, at := range l.At {
			if math.IsNaN(at.X) || math.IsInf(at.X, 0) || math.IsNaN(at.Y) || math.IsInf(at.Y, 0) {
				return fmt.Errorf("draw %s: a value is no number", l.Name)
			}
		}
	}
	return nil
}

// draw draws the title, the axes and the lines.
func (c *Chart) draw(b *bytes.Buffer, in box) {
	x := c.scale(c.LogX, false, in.left, in.right, func(_ *Line, _ int, at Point) (float64, float64) { return at.X, at.X })
	y := c.scale(c.LogY, c.CutY, in.floor, in.top, func(l *Line, i int, at Point) (float64, float64) {
		if i < len(l.Spread) {
			return min(at.Y, l.Spread[i].Least), max(at.Y, l.Spread[i].Most)
		}
		return at.Y, at.Y
	})
	middle := (in.left + in.right) / 2
	fmt.Fprintf(b, `<text x="%.1f" y="%.1f" text-anchor="middle">%s</text>`+"\n", middle, in.top-12, Escape(c.Title))
	if c.X != "" {
		fmt.Fprintf(b, `<text x="%.1f" y="%.1f" text-anchor="middle">%s</text>`+"\n", middle, in.floor+38, Escape(c.X))
	}
	if c.Y != "" {
		left, center := in.left-56, (in.top+in.floor)/2
		fmt.Fprintf(b, `<text x="%.1f" y="%.1f" text-anchor="middle" transform="rotate(-90 %.1f %.1f)">%s</text>`+"\n", left, center, left, center, Escape(c.Y))
	}
	below := x.ticks(c.At)
	every := labelEvery(below)
	for i, t := range below {
		fmt.Fprintf(b, `<path d="M%.1f %.1fV%.1f" stroke="#dcdcdc"/>`, t.place, in.top, in.floor)
		if i%every > 0 {
			t.label = ""
		}
		fmt.Fprintf(b, `<text x="%.1f" y="%.1f" text-anchor="middle">%s</text>`+"\n", t.place, in.floor+17, t.label)
	}
	for _, t := range y.ticks(nil) {
		fmt.Fprintf(b, `<path d="M%.1f %.1fH%.1f" stroke="#dcdcdc"/>`, in.left, t.place, in.right)
		fmt.Fprintf(b, `<text x="%.1f" y="%.1f" text-anchor="end">%s</text>`+"\n", in.left-6, t.place+4, t.label)
	}
	fmt.Fprintf(b, `<path d="M%.1f %.1fV%.1fH%.1f" stroke="black" fill="none"/>`+"\n", in.left, in.top, in.floor, in.right)
	for i := range c.Lines {
		c.Lines[i].draw(b, &x, &y)
	}
}

// draw draws the points of a line, and what joins them.
func (l *Line) draw(b *bytes.Buffer, x, y *scale) {
	if len(l.At) == 0 {
		return
	}
	for i, s := range l.Spread {
		fmt.Fprintf(b, `<path d="M%.1f %.1fV%.1f" stroke="%s"/>`+"\n", x.place(l.At[i].X), y.place(s.Least), y.place(s.Most), Color(l.Color))
	}
	if l.Thin || l.Style == Joined || l.Style == Dashed || l.Style == Crosses {
		var path bytes.Buffer
		for i, at := range l.At {
			fmt.Fprintf(&path, "%c%.1f %.1f", "ML"[min(i, 1)], x.place(at.X), y.place(at.Y))
		}
		fmt.Fprintf(b, `<path d="%s" fill="none" %s/>`+"\n", &path, l.pen())
	}
	if l.marked() {
		for _, at := range l.At {
			l.mark(b, x.place(at.X), y.place(at.Y))
		}
		fmt.Fprintln(b)
	}
}

// pen returns the attributes of the line that joins the points.
func (l *Line) pen() string {
	switch {
	case l.Thin:
		return fmt.Sprintf(`stroke="%s" stroke-width="0.7" stroke-dasharray="4 3"`, Color(l.Color))
	case l.Style == Dashed:
		return fmt.Sprintf(`stroke="%s" stroke-width="1.6" stroke-dasharray="7 4"`, Color(l.Color))
	}
	return fmt.Sprintf(`stroke="%s" stroke-width="1.6"`, Color(l.Color))
}

// marked reports whether points have marks.
func (l *Line) marked() bool {
	return !l.Thin && l.Style != Dashed && (l.Style != Joined || len(l.At) <= few)
}

// mark draws a point.
func (l *Line) mark(b *bytes.Buffer, x, y float64) {
	switch l.Style {
	case Rings: // they stay visible behind dots
		fmt.Fprintf(b, `<circle cx="%.1f" cy="%.1f" r="6" fill="none" stroke="%s" stroke-width="1.8"/>`, x, y, Color(l.Color))
	case Crosses:
		fmt.Fprintf(b, `<path d="M%.1f %.1fl7 7m0 -7l-7 7" stroke="%s"/>`, x-3.5, y-3.5, Color(l.Color))
	default:
		fmt.Fprintf(b, `<circle cx="%.1f" cy="%.1f" r="2.7" fill="%s"/>`, x, y, Color(l.Color))
	}
}

// legend names the lines that are not thin.
func (c *Chart) legend(b *bytes.Buffer, left, top float64) {
	for i := range c.Lines {
		l := &c.Lines[i]
		if l.Thin || len(l.At) == 0 {
			continue
		}
		if l.marked() {
			l.mark(b, left+10, top)
		} else {
			fmt.Fprintf(b, `<path d="M%.1f %.1fh20" %s/>`, left, top, l.pen())
		}
		fmt.Fprintf(b, `<text x="%.1f" y="%.1f" font-size="%d">%s</text>`+"\n", left+26, top+4, legendFontSize, Escape(l.Name))
		top += legendRow
	}
}
