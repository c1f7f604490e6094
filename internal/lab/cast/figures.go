//go:build linux

package cast

import (
	"cmp"
	"slices"
	"strings"

	"github.com/schedgen/schedgen/internal/lab/internal/units"
)

// figure holds the rounds of a tool in a cell.
type figure struct {
	cell
	tool string
	rows []*row
}

// figures returns the figures in the order of the report.
func (r *results) figures() (all []*figure) {
	for _, of := range r.rows {
		i := slices.IndexFunc(all, func(f *figure) bool { return f.cell == of.cell && f.tool == of.Tool })
		if i < 0 {
			i, all = len(all), append(all, &figure{cell: of.cell, tool: of.Tool})
		}
		all[i].rows = append(all[i].rows, of)
	}
	slices.SortStableFunc(all, func(a, b *figure) int {
		return cmp.Or(a.cell.compare(b.cell), slices.Index(toolNames(), a.tool)-slices.Index(toolNames(), b.tool))
	})
	return all
}

// compare orders cells, so that the cells of a section of the report are consecutive.
func (c cell) compare(o cell) int {
	return cmp.Or(cmp.Compare(c.Bytes, o.Bytes), cmp.Compare(slices.Index(faults, c.Fault), slices.Index(faults, o.Fault)),
		units.CompareRates(c.Rate, o.Rate), cmp.Compare(c.PerMille, o.PerMille), cmp.Compare(c.Hosts, o.Hosts))
}

// median returns the median of a quantity over the rounds, or the lower one of two medians. It
// returns 0 if a round failed.
func (f *figure) median(of func(*row) float64) float64 {
	var all []float64
	for _, r := range f.rows {
		if r.Failed != "" {
			return 0
		}
		all = append(all, of(r))
	}
	slices.Sort(all)
	return all[(len(all)-1)/2]
}

func (f *figure) seconds() float64 { return f.median((*row).seconds) }

// failure returns the reason why there is no result, or "" if there is one.
func (f *figure) failure() string {
	for _, r := range f.rows {
		if r.Failed != "" {
			return r.Failed
		}
	}
	return ""
}

// isOurs reports whether the tool is schedgen, with or without a forced transport.
func (f *figure) isOurs() bool { return strings.HasPrefix(f.tool, ours) }

// ours is schedgen without a forced transport.
const ours = "schedgen"

// line is a cell and the figures of the tools that were measured in it.
type line struct {
	cell
	by map[string]*figure
}

func lines(all []*figure) (out []*line) {
	for _, f := range all {
		if len(out) == 0 || out[len(out)-1].cell != f.cell {
			out = append(out, &line{f.cell, map[string]*figure{}})
		}
		out[len(out)-1].by[f.tool] = f
	}
	return out
}

// fastest returns the fastest of the other tools that succeeded, or nil if none did.
func (l *line) fastest() (best *figure) {
	for _, c := range contenders {
		f := l.by[c.name]
		if f != nil && !f.isOurs() && f.seconds() > 0 && (best == nil || f.seconds() < best.seconds()) {
			best = f
		}
	}
	return best
}

// goal is the multiple of the wire's time within which schedgen should be.
func (c cell) goal() float64 {
	if c.PerMille == 0 {
		return 1.1
	}
	return 1.25
}

// missed reports whether schedgen has missed its goal, or another tool is faster.
func (l *line) missed() bool {
	f := l.by[ours]
	if f == nil {
		return false
	}
	s, best := f.seconds(), l.fastest()
	late := l.Fault == faultNone && l.Rate > 0 && s > l.goal()*l.wire()
	return s <= 0 || late || best != nil && best.seconds() < s
}
