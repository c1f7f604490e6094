//go:build linux

package main

import (
	"bytes"
	"fmt"
	"io"
	"math"

	"github.com/schedgen/schedgen/bench/internal/units"
)

// The picture has a panel for each size, rate and loss without a fault: by number of hosts a bar for
// each tool, as high as its time. The scale is logarithmic; a line shows the time of
// the wire. What came to no end has no bar, but a cross.
const (
	panelWidth, panelHeight  = 300.0, 190.0
	panelsInRow              = 3
	marginLeft, marginTop    = 40.0, 26.0
	marginRight, marginBelow = 8.0, 26.0
	headHeight               = 24.0
)

var colors = map[string]string{
	"schedgen": "#0b61a4", "schedgen-tcp": "#6fa8d6", "schedgen-mcast": "#a9cbe6",
	"udpcast": "#c4541d", "udpcast-fec": "#e59a6d", "uftp": "#6a9a3c", "scp": "#8a8a8a",
}

func writeSVG(w io.Writer, all []*line) error {
	panels := panelsOf(all)
	width := panelWidth * panelsInRow
	height := headHeight + panelHeight*math.Ceil(float64(len(panels))/panelsInRow)
	var b bytes.Buffer
	fmt.Fprintf(&b, `<svg xmlns="http://www.w3.org/2000/svg" width="%g" height="%g" viewBox="0 0 %g %g" font-family="sans-serif" font-size="10">`+"\n",
		width, height, width, height)
	fmt.Fprintf(&b, `<rect width="%g" height="%g" fill="white"/>`+"\n", width, height)
	fmt.Fprint(&b, `<text x="10" y="15">Seconds until all hosts have the file, by number of hosts:`)
	for _, name := range measured(all) {
		fmt.Fprintf(&b, `<tspan dx="8" fill="%s">■ %s</tspan>`, colors[name], name)
	}
	fmt.Fprint(&b, `<tspan dx="8">┄ the wire's time</tspan></text>`+"\n")
	for i, p := range panels {
		fmt.Fprintf(&b, `<g transform="translate(%g,%g)">`+"\n", float64(i%panelsInRow)*panelWidth, headHeight+math.Floor(float64(i)/panelsInRow)*panelHeight)
		p.draw(&b)
		fmt.Fprintln(&b, "</g>")
	}
	fmt.Fprintln(&b, "</svg>")
	_, err := w.Write(b.Bytes())
	return err
}

// panel is lines that differ in the number of hosts only.
type panel struct {
	lines    []*line
	low, top float64 // logarithms of the least and the largest time, as powers of ten
}

func panelsOf(all []*line) (out []*panel) {
	var last cell
	for _, l := range all {
		if l.Fault != faultNone {
			continue
		}
		key := l.cell
		key.Hosts = 0
		if len(out) == 0 || key != last {
			out, last = append(out, new(panel)), key
		}
		p := out[len(out)-1]
		p.lines = append(p.lines, l)
	}
	for _, p := range out {
		p.scale()
	}
	return out
}

func (p *panel) scale() {
	p.low, p.top = math.Inf(1), math.Inf(-1)
	see := func(seconds float64) {
		if seconds > 0 {
			p.low, p.top = min(p.low, math.Floor(math.Log10(seconds))), max(p.top, math.Ceil(math.Log10(seconds)))
		}
	}
	for _, l := range p.lines {
		see(l.wire())
		for _, f := range l.by {
			see(f.seconds())
		}
	}
	if math.IsInf(p.low, 0) {
		p.low, p.top = 0, 1
	}
	if p.low == p.top {
		p.low--
	}
}

func (p *panel) y(seconds float64) float64 {
	return panelHeight - marginBelow - (math.Log10(seconds)-p.low)/(p.top-p.low)*(panelHeight-marginTop-marginBelow)
}

func (p *panel) draw(b *bytes.Buffer) {
	c, names := p.lines[0].cell, measured(p.lines)
	right, floor := panelWidth-marginRight, panelHeight-marginBelow
	fmt.Fprintf(b, `<text x="%g" y="%g" font-weight="bold">%s, %s, %s loss</text>`+"\n", marginLeft, marginTop-8, units.Size(c.Bytes), units.Rate(c.Rate), units.Loss(c.PerMille))
	for e := p.low; e <= p.top; e++ {
		t := math.Pow(10, e)
		fmt.Fprintf(b, `<path d="M%g %.1fH%g" stroke="#ddd"/><text x="%g" y="%.1f" text-anchor="end">%g</text>`+"\n", marginLeft, p.y(t), right, marginLeft-4, p.y(t)+3, t)
	}
	group := (right - marginLeft) / float64(len(p.lines))
	bar := group / float64(len(names)+1)
	for i, l := range p.lines {
		left := marginLeft + float64(i)*group + bar/2
		fmt.Fprintf(b, `<text x="%.1f" y="%g" text-anchor="middle">%d</text>`+"\n", left+group/2-bar/2, floor+14, l.Hosts)
		for k, name := range names {
			drawBar(b, l.by[name], left+float64(k)*bar, bar, floor, p)
		}
	}
	if wire := c.wire(); wire > 0 {
		fmt.Fprintf(b, `<path d="M%g %.1fH%g" stroke="black" stroke-dasharray="3 2"/>`+"\n", marginLeft, p.y(wire), right)
	}
}

func drawBar(b *bytes.Buffer, f *figure, x, width, floor float64, p *panel) {
	switch {
	case f == nil:
	case f.seconds() <= 0:
		fmt.Fprintf(b, `<text x="%.1f" y="%g" text-anchor="middle" fill="%s">×</text>`+"\n", x+width/2, floor-2, colors[f.tool])
	default:
		y := p.y(f.seconds())
		fmt.Fprintf(b, `<rect x="%.1f" y="%.1f" width="%.1f" height="%.1f" fill="%s"><title>%s: %s s</title></rect>`+"\n",
			x, y, width*0.9, floor-y, colors[f.tool], f.tool, spell(f.seconds()))
	}
}
