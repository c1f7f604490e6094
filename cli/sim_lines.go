package cli

import (
	"fmt"

	"github.com/schedgen/schedgen/internal/chart"
	"github.com/schedgen/schedgen/sim"
)

// lines returns the makespans over x, with a line for each size if x is "ranks". With several runs
// the line shows the medians, and thin lines show the least and the most.
func (c *simCmd) lines(points []*point, x string, of func(*point) float64) []chart.Line {
	var all []chart.Line
	groups := map[int][]*point{}
	var order []int
	for _, p := range points {
		key := 0
		if x == "ranks" {
			key = p.bytes
		}
		if groups[key] == nil {
			order = append(order, key)
		}
		groups[key] = append(groups[key], p)
	}
	for i, key := range order {
		name := "makespan"
		if len(order) > 1 {
			name = byteSize(key).String()
		}
		if c.Runs > 1 {
			name += ", median"
		}
		all = append(all, quantileLine(groups[key], name, of, 0.5, i, false))
		if c.Runs > 1 {
			all = append(all, quantileLine(groups[key], "least", of, 0, i, true), quantileLine(groups[key], "most", of, 1, i, true))
		}
	}
	return all
}

// quantileLine returns a line through the quantiles q of the makespans of points.
func quantileLine(points []*point, name string, of func(*point) float64, q float64, color int, thin bool) chart.Line {
	l := chart.Line{Name: name, Color: color, Thin: thin}
	for _, p := range points {
		if t := p.quantile(q); t != sim.Never {
			l.At = append(l.At, chart.Point{X: of(p), Y: float64(t) / 1000})
		}
	}
	return l
}

// maxDrawn is the largest number of points that are drawn for ranks. More would not be visible.
const maxDrawn = 4096

// rankLines returns lines for the times at which ranks call and return in the first run. With many
// ranks, each point is the latest of several ranks.
func (p *point) rankLines() []chart.Line {
	step := (len(p.first.Returns) + maxDrawn - 1) / maxDrawn
	calls := chart.Line{Name: "calls", Color: 1}
	returns := chart.Line{Name: "returns"}
	if step > 1 {
		returns.Name = fmt.Sprintf("returns, latest of %d", step)
	}
	for from := 0; from < len(p.first.Returns); from += step {
		call, ret := p.first.Enters[from], p.first.Returns[from]
		for r := from; r < min(from+step, len(p.first.Returns)); r++ {
			call, ret = max(call, p.first.Enters[r]), max(ret, p.first.Returns[r])
		}
		calls.At = append(calls.At, chart.Point{X: float64(from), Y: float64(call) / 1000})
		if ret != sim.Never {
			returns.At = append(returns.At, chart.Point{X: float64(from), Y: float64(ret) / 1000})
		}
	}
	return []chart.Line{returns, calls}
}
