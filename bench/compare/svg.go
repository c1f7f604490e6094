package main

import (
	"bytes"
	"fmt"
	"io"
	"math"
	"slices"

	"github.com/schedgen/schedgen/bench/internal/tool"
)

// The picture is a grid of panels, one for each wire, operation and size. A panel shows the times
// of schedgen and of the best peer over the number of ranks, both on logarithmic scales, with a bar
// from the least to the largest run.
const (
	panelWidth, panelHeight = 230.0, 170.0
	panelsInRow             = 4
	marginLeft, marginTop   = 46.0, 26.0
	marginRight, marginLow  = 12.0, 24.0
	colorOurs, colorPeer    = "#0b61a4", "#c4541d"
)

func (r *results) writeSVG(w io.Writer) error {
	panels := panelsOf(r.verdicts())
	rows := (len(panels) + panelsInRow - 1) / panelsInRow
	width, height := panelWidth*panelsInRow, panelHeight*float64(rows)+20
	return tool.WriteSVG(w, width, height, 10, func(b *bytes.Buffer) {
		fmt.Fprintf(b, `<text x="10" y="14">µs by number of ranks: <tspan fill="%s">our best algorithm</tspan>, <tspan fill="%s">best peer</tspan></text>`+"\n",
			colorOurs, colorPeer)
		for i, p := range panels {
			fmt.Fprintf(b, `<g transform="translate(%g,%g)">`+"\n", float64(i%panelsInRow)*panelWidth, float64(i/panelsInRow)*panelHeight+20)
			p.draw(b)
			fmt.Fprintln(b, "</g>")
		}
	})
}

// panel is one operation of one size over one wire.
type panel struct {
	title            string
	points           []verdict
	minP, maxP       float64 // logarithms, like the next fields
	minTime, maxTime float64
}

func panelsOf(all []verdict) []*panel {
	var out []*panel
	var last cell
	for _, v := range all {
		key := cell{wire: v.wire, op: v.op, bytes: v.bytes}
		if len(out) == 0 || key != last {
			out = append(out, &panel{title: v.wire + ", " + opAndSize(v.cell)})
			last = key
		}
		p := out[len(out)-1]
		p.points = append(p.points, v)
	}
	for _, p := range out {
		p.setScales()
	}
	return out
}

// setScales finds the bounds of the scales. The bounds of times are powers of ten.
func (p *panel) setScales() {
	p.minP, p.maxP = math.Inf(1), math.Inf(-1)
	p.minTime, p.maxTime = math.Inf(1), math.Inf(-1)
	for _, v := range p.points {
		x := math.Log2(float64(v.ranks))
		p.minP, p.maxP = min(p.minP, x), max(p.maxP, x)
		for _, r := range []*row{v.ours, v.peer} {
			if r != nil {
				p.minTime = min(p.minTime, math.Floor(math.Log10(slices.Min(r.means()))))
				p.maxTime = max(p.maxTime, math.Ceil(math.Log10(slices.Max(r.means()))))
			}
		}
	}
	if p.minP == p.maxP {
		p.maxP++
	}
	if math.IsInf(p.minTime, 0) {
		p.minTime, p.maxTime = 0, 1
	}
	if p.minTime == p.maxTime {
		p.maxTime++
	}
}

func (p *panel) x(ranks int) float64 {
	return marginLeft + (math.Log2(float64(ranks))-p.minP)/(p.maxP-p.minP)*(panelWidth-marginLeft-marginRight)
}

func (p *panel) y(micros float64) float64 {
	return panelHeight - marginLow - (math.Log10(micros)-p.minTime)/(p.maxTime-p.minTime)*(panelHeight-marginTop-marginLow)
}

func (p *panel) draw(b *bytes.Buffer) {
	fmt.Fprintf(b, `<text x="%g" y="%g" font-weight="bold">%s</text>`+"\n", marginLeft, marginTop-8, p.title)
	for e := p.minTime; e <= p.maxTime; e++ {
		t := math.Pow(10, e)
		fmt.Fprintf(b, `<path d="M%g %.1fH%g" stroke="#ddd"/><text x="%g" y="%.1f" text-anchor="end">%g</text>`+"\n",
			marginLeft, p.y(t), panelWidth-marginRight, marginLeft-4, p.y(t)+3, t)
	}
	for _, v := range p.points {
		fmt.Fprintf(b, `<text x="%.1f" y="%g" text-anchor="middle">%d</text>`+"\n", p.x(v.ranks), panelHeight-marginLow+13, v.ranks)
	}
	p.drawLine(b, colorPeer, func(v *verdict) *row { return v.peer })
	p.drawLine(b, colorOurs, func(v *verdict) *row { return v.ours })
}

// drawLine joins the medians over runs of one side.
func (p *panel) drawLine(b *bytes.Buffer, color string, of func(*verdict) *row) {
	var path bytes.Buffer
	for i := range p.points {
		r := of(&p.points[i])
		if r == nil {
			continue
		}
		x, letter := p.x(r.ranks), "L"
		if path.Len() == 0 {
			letter = "M"
		}
		fmt.Fprintf(&path, "%s%.1f %.1f", letter, x, p.y(r.mean()))
		fmt.Fprintf(b, `<circle cx="%.1f" cy="%.1f" r="2.5" fill="%s"/><path d="M%.1f %.1fV%.1f" stroke="%s"/>`+"\n",
			x, p.y(r.mean()), color, x, p.y(slices.Min(r.means())), p.y(slices.Max(r.means())), color)
	}
	if path.Len() > 0 {
		fmt.Fprintf(b, `<path d="%s" stroke="%s" fill="none" stroke-width="1.5"/>`+"\n", path.String(), color)
	}
}
