//go:build linux

package main

import (
	"bytes"
	"encoding/xml"
	"fmt"
	"io"
	"math"

	"github.com/schedgen/schedgen/bench/internal/tool"
	"github.com/schedgen/schedgen/bench/internal/units"
)

// The picture is one panel, for the smallest file over the slowest links, where the links and not
// the cores of this machine are the limit. For each loss and number of hosts it has a bar for each
// tool. The height of the bar is the time in multiples of the wire's time, on a linear scale from
// 0. A cross marks a tool that failed. The table has all results.
const (
	pictureWidth, pictureHeight = 800.0, 400.0
	plotLeft, plotRight         = 44.0, 792.0
	plotTop, plotFloor          = 76.0, 344.0
	mostBar                     = 18.0       // of a bar's width
	groupGap, lossGap           = 16.0, 12.0 // a figure stands above a bar and the gap before it
)

var colors = map[string]string{
	"schedgen": "#0b61a4", "schedgen-tcp": "#6fa8d6", "schedgen-mcast": "#a9cbe6",
	"udpcast": "#c4541d", "udpcast-fec": "#e59a6d", "uftp": "#6a9a3c", "scp": "#8a8a8a",
}

// legends are the names of schedgen with a forced transport.
var legends = map[string]string{"schedgen-tcp": "schedgen, chain only", "schedgen-mcast": "schedgen, multicast only"}

func writeSVG(w io.Writer, all []*line) error {
	return tool.WriteSVG(w, pictureWidth, pictureHeight, 13, func(b *bytes.Buffer) {
		if p := pictured(all); p != nil {
			p.draw(b)
		}
	})
}

// panel is a set of lines that differ only in loss and the number of hosts.
type panel struct {
	lines []*line
	top   float64 // end of the scale, in multiples of the wire's time
}

// pictured returns the first section of the report without a fault and with limited links, or nil
// if there is none.
func pictured(all []*line) *panel {
	p := &panel{top: 2}
	for _, l := range all {
		if l.Fault != faultNone || l.Rate == 0 {
			continue
		}
		if len(p.lines) > 0 && (l.Bytes != p.lines[0].Bytes || l.Rate != p.lines[0].Rate) {
			break
		}
		p.lines = append(p.lines, l)
		for _, f := range l.by {
			p.top = max(p.top, math.Ceil(f.seconds()/l.wire()))
		}
	}
	if len(p.lines) == 0 {
		return nil
	}
	return p
}

func (p *panel) y(multiple float64) float64 {
	return plotFloor - multiple/p.top*(plotFloor-plotTop)
}

func (p *panel) draw(b *bytes.Buffer) {
	c, names := p.lines[0].cell, measured(p.lines)
	fmt.Fprintf(b, `<text x="10" y="22" font-size="15" font-weight="bold">%s to many hosts at %s: time, in multiples of one copy on the wire</text>`+"\n",
		units.Size(c.Bytes), rateWords(c.Rate))
	fmt.Fprint(b, `<text x="10" y="46">`)
	for i, name := range names {
		text := name
		if long := legends[name]; long != "" {
			text = long
		}
		fmt.Fprintf(b, `<tspan dx="%d" fill="%s">■</tspan><tspan dx="4">%s</tspan>`, min(i, 1)*16, colors[name], text)
	}
	fmt.Fprint(b, `<tspan dx="16">┄ one copy</tspan></text>`+"\n")
	step := math.Ceil(p.top / 8)
	for m := 0.0; m <= p.top; m += step {
		fmt.Fprintf(b, `<path d="M%g %.1fH%g" stroke="#ddd"/><text x="%g" y="%.1f" text-anchor="end">%g ×</text>`+"\n", plotLeft, p.y(m), plotRight, plotLeft-6, p.y(m)+4, m)
	}
	p.bars(b, names)
	fmt.Fprintf(b, `<path d="M%g %.1fH%g" stroke="black" stroke-dasharray="4 3"/>`+"\n", plotLeft, p.y(1), plotRight)
}

// bars draws a group of bars for each line, with the number of hosts below it, and the loss below
// all groups of that loss.
func (p *panel) bars(b *bytes.Buffer, names []string) {
	gaps, slots := 0.0, 0
	for i, l := range p.lines {
		slots += len(l.by)
		if gaps += groupGap; i > 0 && l.PerMille != p.lines[i-1].PerMille {
			gaps += lossGap
		}
	}
	bar := min((plotRight-plotLeft-gaps)/float64(max(slots, 1)), mostBar)
	x := plotLeft + (plotRight-plotLeft-gaps-bar*float64(slots))/2
	begin := x
	for i, l := range p.lines {
		x += groupGap / 2
		left := x
		for _, name := range names {
			if f := l.by[name]; f != nil {
				p.bar(b, f, l.wire(), x, bar)
				x += bar
			}
		}
		hosts := fmt.Sprint(l.Hosts)
		if i == 0 || l.PerMille != p.lines[i-1].PerMille {
			hosts += " hosts"
		}
		fmt.Fprintf(b, `<text x="%.1f" y="%g" text-anchor="middle">%s</text>`+"\n", (left+x)/2, plotFloor+18, hosts)
		x += groupGap / 2
		if i+1 == len(p.lines) || l.PerMille != p.lines[i+1].PerMille {
			loss := "no loss"
			if l.PerMille > 0 {
				loss = units.Loss(l.PerMille) + " of the frames lost"
			}
			fmt.Fprintf(b, `<path d="M%.1f %gH%.1f" stroke="#888"/><text x="%.1f" y="%g" text-anchor="middle">%s</text>`+"\n",
				begin+groupGap/2, plotFloor+26, x-groupGap/2, (begin+x)/2, plotFloor+44, loss)
			x += lossGap
			begin = x
		}
	}
}

func (p *panel) bar(b *bytes.Buffer, f *figure, wire, x, width float64) {
	m := f.seconds() / wire
	if m <= 0 {
		fmt.Fprintf(b, `<text x="%.1f" y="%g" text-anchor="middle" fill="%s">×<title>%s: %s</title></text>`+"\n", x+width/2, plotFloor-3, colors[f.tool], f.tool, escape(f.failure()))
		return
	}
	y := p.y(m)
	fmt.Fprintf(b, `<rect x="%.1f" y="%.1f" width="%.1f" height="%.1f" fill="%s"><title>%s: %s s, %.2f ×</title></rect>`+"\n",
		x, y, width*0.92, plotFloor-y, colors[f.tool], f.tool, units.Seconds(f.seconds()), m)
	if f.tool == ours {
		fmt.Fprintf(b, `<text x="%.1f" y="%.1f" text-anchor="end" font-size="12" font-weight="bold" fill="%s">%.2f</text>`+"\n", x+width*0.92, y-4, colors[ours], m)
	}
}

// rateWords spells a rate for people.
func rateWords(bits int64) string {
	switch {
	case bits >= 1e9:
		return fmt.Sprintf("%g Gbit/s", float64(bits)/1e9)
	case bits >= 1e6:
		return fmt.Sprintf("%g Mbit/s", float64(bits)/1e6)
	}
	return fmt.Sprintf("%d bit/s", bits)
}

// escape escapes text for XML.
func escape(text string) string {
	var b bytes.Buffer
	_ = xml.EscapeText(&b, []byte(text)) // never fails on a buffer
	return b.String()
}
