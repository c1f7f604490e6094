//go:build linux

package soak

import (
	"bytes"
	"cmp"
	"fmt"
	"io"
	"maps"
	"slices"
	"time"

	"github.com/schedgen/schedgen/internal/chart"
	"github.com/schedgen/schedgen/internal/lab/internal/report"
	"github.com/schedgen/schedgen/internal/words"
)

// results are the runs over all transports.
type results struct {
	cmd   *Verb
	seed  uint64
	about []string
	runs  []*run
}

// table is the form of the CSV, which has a line for each second.
var table = report.Table[moment]{What: "a report on a soak", Columns: []report.Column[moment]{
	report.Text("transport", func(m *moment) *string { return &m.Transport }),
	report.Whole("second", func(m *moment) *int64 { return &m.Second }),
	report.Time("memory_bytes", 0, func(m *moment) *float64 { return &m.Memory }),
	report.Time("descriptors", 2, func(m *moment) *float64 { return &m.Descriptors }),
	report.Time("goroutines", 2, func(m *moment) *float64 { return &m.Goroutines }),
	report.Whole("operations", func(m *moment) *int64 { return &m.Operations }),
}}

// files returns what fills the files of the results, by extension.
func (r *results) files() map[string]func(io.Writer) error {
	return map[string]func(io.Writer) error{
		"csv": func(w io.Writer) error {
			return table.Write(w, func(yield func(*moment) bool) {
				for _, run := range r.runs {
					for i := range run.moments {
						if !yield(&run.moments[i]) {
							return
						}
					}
				}
			})
		},
		"calls.csv": func(w io.Writer) error {
			var all []*call
			for _, run := range r.runs {
				all = append(all, run.calls()...)
			}
			return callTable.Write(w, slices.Values(all))
		},
		"md":  r.writeMarkdown,
		"svg": r.writeSVG,
	}
}

// kinds returns the kinds of operations of all runs.
func (r *results) kinds() []string {
	all := make(map[string]bool)
	for _, run := range r.runs {
		for kind := range run.times {
			all[kind] = true
		}
	}
	return slices.Sorted(maps.Keys(all))
}

// percentiles are those of the report, and for the picture the number of calls of which one is
// slower.
var percentiles = [...]struct {
	percent float64
	oneOf   float64
}{{50, 2}, {99, 100}, {99.9, 1000}}

// call is what is known of the calls of a kind.
type call struct {
	Transport, Kind string
	Count           int64
	Millis          [len(percentiles)]float64 // the percentiles of their times
}

// callTable is the form of the CSV of calls.
var callTable = report.Table[call]{What: "a report on calls", Columns: []report.Column[call]{
	report.Text("transport", func(c *call) *string { return &c.Transport }),
	report.Text("call", func(c *call) *string { return &c.Kind }),
	report.Whole("count", func(c *call) *int64 { return &c.Count }),
	report.Time("p50_ms", 3, func(c *call) *float64 { return &c.Millis[0] }),
	report.Time("p99_ms", 3, func(c *call) *float64 { return &c.Millis[1] }),
	report.Time("p99_9_ms", 3, func(c *call) *float64 { return &c.Millis[2] }),
}}

// call returns what is known of the calls of a kind, or nil if there were none.
func (r *run) call(kind string) *call {
	h := r.times[kind]
	if h == nil {
		return nil
	}
	c := &call{Transport: r.transport, Kind: kind, Count: h.TotalCount()}
	for i, p := range percentiles {
		c.Millis[i] = float64(h.ValueAtPercentile(p.percent)) / 1000
	}
	return c
}

// calls returns all calls of a run.
func (r *run) calls() (all []*call) {
	for _, kind := range slices.Sorted(maps.Keys(r.times)) {
		all = append(all, r.call(kind))
	}
	return all
}

const disclosure = `Processes of one machine do random collectives, publish and ask, and compare every result with one that
they compute themselves. One process after the other kills itself; the others continue without it
(Shrink), and later meet its replacement in a new job. Memory (resident), descriptors and goroutines
are means over the processes that never die, half of all. A pair of numbers is the mean of the second
and of the last quarter of the time. The time of a call includes its wait for other ranks; one publish
is up to four messages of each rank, all taken by all.

`

// writeMarkdown writes the tables.
func (r *results) writeMarkdown(w io.Writer) error {
	var b bytes.Buffer
	about := append(slices.Clone(r.about), fmt.Sprintf("%d ranks, %v over each transport, a death each %v, seed %d%s", r.cmd.Ranks, r.cmd.Time, *r.cmd.Death, r.seed, r.cmd.conditions()))
	report.WriteHead(&b, "Ranks under load", about, disclosure)
	report.WriteTitles(&b, "transport", "operations:", "jobs:", "deaths:", "memory, MiB:", "descriptors:", "goroutines:", "verdict")
	for _, run := range r.runs {
		run.writeRow(&b)
	}
	fmt.Fprintf(&b, "\nTimes of calls in milliseconds: the percentiles 50, 99 and 99.9.\n\n")
	titles := []string{"call"}
	for _, run := range r.runs {
		titles = append(titles, run.transport+":")
	}
	report.WriteTitles(&b, titles...)
	for _, kind := range r.kinds() {
		cells := []any{kind}
		for _, run := range r.runs {
			text := "-"
			if c := run.call(kind); c != nil {
				text = fmt.Sprintf("%.3g / %.3g / %.3g", c.Millis[0], c.Millis[1], c.Millis[2])
			}
			cells = append(cells, text)
		}
		report.WriteCells(&b, cells...)
	}
	_, err := w.Write(b.Bytes())
	return err
}

// conditions says what else the flags ask for.
func (c *Verb) conditions() (text string) {
	if c.Key {
		text += ", with a key"
	}
	if c.Loss > 0 {
		text += fmt.Sprintf("; %s between hosts that lose %.3g %% of the frames", overHosts, 100*c.Loss)
	}
	return text
}

// writeRow writes the row of a transport.
func (r *run) writeRow(w io.Writer) {
	cells := []any{r.transport, r.operations(), r.jobs, r.deaths}
	seconds := int64(r.cmd.Time / time.Second)
	for i := range measures {
		if r.failed != "" {
			cells = append(cells, "-") // it has ended early
			continue
		}
		cells = append(cells, fmt.Sprintf("%.1f, %.1f", measures[i].quarter(r.moments, seconds, 1), measures[i].quarter(r.moments, seconds, 3)))
	}
	verdict := "right and flat"
	if r.cmd.Time < leastTime {
		verdict = "right; too short to say more"
	}
	if faults := r.faults(); faults != nil {
		verdict = words.List(faults)
	}
	report.WriteCells(w, append(cells, verdict)...)
}

// The size of a panel in pixels.
const panelWidth, panelHeight, panelColumns = 252.0, 170.0, 3

// writeSVG draws what processes use over time, and the times of calls of each kind.
func (r *results) writeSVG(w io.Writer) error {
	var panels []chart.Chart
	for i := range measures {
		q := &measures[i]
		c := chart.Chart{Title: q.name}
		if q.unit != "" {
			c.Title += ", " + q.unit
		}
		for color, run := range r.runs {
			line := chart.Line{Name: run.transport, Color: color}
			for i := range run.moments {
				line.At = append(line.At, chart.Point{X: float64(run.moments[i].Second), Y: q.of(&run.moments[i])})
			}
			line.At = peaks(line.At, mostPoints)
			c.Lines = append(c.Lines, line)
		}
		panels = append(panels, c)
	}
	for _, kind := range r.kinds() {
		c := chart.Chart{Title: kind + ", ms", LogX: true, LogY: true}
		for _, p := range percentiles {
			c.At = append(c.At, p.oneOf)
		}
		for color, run := range r.runs {
			line := chart.Line{Name: run.transport, Color: color}
			if of := run.call(kind); of != nil {
				for i, p := range percentiles {
					line.At = append(line.At, chart.Point{X: p.oneOf, Y: of.Millis[i]})
				}
			}
			c.Lines = append(c.Lines, line)
		}
		panels = append(panels, c)
	}
	return chart.Panels(w, "A process, over seconds. Calls: the time that one of 2, of 100 and of 1000 exceeds.", panelColumns, panelWidth, panelHeight, panels)
}

// mostPoints bounds the points of a line over time.
const mostPoints = 300

// peaks returns the highest points of groups of neighbours, at most so many.
func peaks(all []chart.Point, most int) (highest []chart.Point) {
	for group := range slices.Chunk(all, max(1, (len(all)+most-1)/most)) {
		highest = append(highest, slices.MaxFunc(group, func(a, b chart.Point) int { return cmp.Compare(a.Y, b.Y) }))
	}
	return highest
}
