package chart

import (
	"bytes"
	"fmt"
	"io"
	"math"
)

// Bars is a chart of groups of bars, on a linear scale from 0.
type Bars struct {
	Title  string
	Unit   string // behind the labels of the scale
	One    string // what the dashed line at 1 is
	Series []Series
	Groups []Group
}

// Series is a kind of bar, which groups have at most once.
type Series struct {
	Name   string
	Color  string
	Valued bool // the value stands above the bar
}

// Group is a group of bars with a text below it. A text below several groups is that of the first,
// if those behind it have the same one.
type Group struct {
	Label, Below string
	Bars         []Bar
}

// Bar is a bar of a series, by its number. A cross marks a bar without a positive value. About is
// what a pointer shows.
type Bar struct {
	Series int
	Value  float64
	About  string
}

// The size of a chart of bars, in pixels.
const (
	barsWidth, barsHeight = 800.0, 400.0
	barsLeft, barsRight   = 44.0, 792.0
	barsTop, barsFloor    = 76.0, 344.0
	mostBar               = 18.0       // of a bar's width
	groupGap, sectionGap  = 16.0, 12.0 // a value stands above a bar and the gap before it
)

// WriteBars draws c.
func WriteBars(w io.Writer, c Bars) error {
	return WriteSVG(w, barsWidth, barsHeight, fontSize, func(b *bytes.Buffer) {
		if len(c.Groups) > 0 {
			c.draw(b)
		}
	})
}

// top returns the end of the scale.
func (c *Bars) top() float64 {
	top := 2.0
	for _, g := range c.Groups {
		for _, bar := range g.Bars {
			top = max(top, math.Ceil(bar.Value))
		}
	}
	return top
}

func (c *Bars) draw(b *bytes.Buffer) {
	fmt.Fprintf(b, `<text x="10" y="22" font-size="15" font-weight="bold">%s</text>`+"\n", Escape(c.Title))
	fmt.Fprint(b, `<text x="10" y="46">`)
	for i, s := range c.Series {
		fmt.Fprintf(b, `<tspan dx="%d" fill="%s">■</tspan><tspan dx="4">%s</tspan>`, min(i, 1)*16, s.Color, Escape(s.Name))
	}
	fmt.Fprintf(b, `<tspan dx="16">┄ %s</tspan></text>`+"\n", Escape(c.One))
	y := scale{max: c.top(), from: barsFloor, to: barsTop}
	step := math.Ceil(y.max / 8)
	for m := 0.0; m <= y.max; m += step {
		fmt.Fprintf(b, `<path d="M%g %.1fH%g" stroke="#ddd"/><text x="%g" y="%.1f" text-anchor="end">%g %s</text>`+"\n",
			barsLeft, y.place(m), barsRight, barsLeft-6, y.place(m)+4, m, c.Unit)
	}
	c.groups(b, &y)
	fmt.Fprintf(b, `<path d="M%g %.1fH%g" stroke="black" stroke-dasharray="4 3"/>`+"\n", barsLeft, y.place(1), barsRight)
}

// groups draws the groups side by side, in the middle.
func (c *Bars) groups(b *bytes.Buffer, y *scale) {
	last := len(c.Groups) - 1
	ends := func(i int) bool { return i == last || c.Groups[i].Below != c.Groups[i+1].Below }
	gaps, bars := 0.0, 0
	for i, g := range c.Groups {
		bars += len(g.Bars)
		if gaps += groupGap; i < last && ends(i) {
			gaps += sectionGap
		}
	}
	width := min((barsRight-barsLeft-gaps)/float64(max(bars, 1)), mostBar)
	x := barsLeft + (barsRight-barsLeft-gaps-width*float64(bars))/2
	begin := x
	for i, g := range c.Groups {
		x += groupGap / 2
		left := x
		for _, bar := range g.Bars {
			c.bar(b, &bar, y, x, width)
			x += width
		}
		fmt.Fprintf(b, `<text x="%.1f" y="%g" text-anchor="middle">%s</text>`+"\n", (left+x)/2, barsFloor+18, Escape(g.Label))
		x += groupGap / 2
		if ends(i) {
			fmt.Fprintf(b, `<path d="M%.1f %gH%.1f" stroke="#888"/><text x="%.1f" y="%g" text-anchor="middle">%s</text>`+"\n",
				begin+groupGap/2, barsFloor+26, x-groupGap/2, (begin+x)/2, barsFloor+44, Escape(g.Below))
			x += sectionGap
			begin = x
		}
	}
}

func (c *Bars) bar(b *bytes.Buffer, bar *Bar, scale *scale, x, width float64) {
	s := &c.Series[bar.Series]
	if bar.Value <= 0 {
		fmt.Fprintf(b, `<text x="%.1f" y="%g" text-anchor="middle" fill="%s">×<title>%s</title></text>`+"\n", x+width/2, barsFloor-3, s.Color, Escape(bar.About))
		return
	}
	y := scale.place(bar.Value)
	fmt.Fprintf(b, `<rect x="%.1f" y="%.1f" width="%.1f" height="%.1f" fill="%s"><title>%s</title></rect>`+"\n",
		x, y, width*0.92, barsFloor-y, s.Color, Escape(bar.About))
	if s.Valued {
		fmt.Fprintf(b, `<text x="%.1f" y="%.1f" text-anchor="end" font-size="12" font-weight="bold" fill="%s">%.2f</text>`+"\n", x+width*0.92, y-4, s.Color, bar.Value)
	}
}
