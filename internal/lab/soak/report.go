//go:build linux

package soak

import (
	"bytes"
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
var percentiles = []struct {
	percent float64
	oneOf   float64
}{{50, 2}, {99, 100}, {99.9, 1000}}

// millis returns a percentile of the times of a kind, in milliseconds; ok is false if there are none.
func (r *run) millis(kind string, percent float64) (ms float64, ok bool) {
	h := r.times[kind]
	if h == nil {
		return 0, false
	}
	return float64(h.ValueAtPercentile(percent)) / 1000, true
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
	about := append(slices.Clone(r.about), fmt.Sprintf("%d ranks, %v over each transport, a death each %v, seed %d%s", r.cmd.Ranks, r.cmd.Time, r.cmd.Death, r.seed, r.cmd.conditions()))
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
			text := ""
			for i, p := range percentiles {
				if ms, ok := run.millis(kind, p.percent); ok {
					text += [...]string{"", " / "}[min(i, 1)] + fmt.Sprintf("%.3g", ms)
				}
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
			c.Lines = append(c.Lines, line)
		}
		panels = append(panels, c)
	}
	for _, kind := range r.kinds() {
		c := chart.Chart{Title: kind + ", ms", LogX: true, LogY: true}
		for color, run := range r.runs {
			line := chart.Line{Name: run.transport, Color: color}
			for _, p := range percentiles {
				if len(c.At) < len(percentiles) {
					c.At = append(c.At, p.oneOf)
				}
				if ms, ok := run.millis(kind, p.percent); ok {
					line.At = append(line.At, chart.Point{X: p.oneOf, Y: ms})
				}
			}
			c.Lines = append(c.Lines, line)
		}
		panels = append(panels, c)
	}
	return chart.Panels(w, "A process, over seconds. Calls: the time that one of 2, of 100 and of 1000 exceeds.", panelColumns, panelWidth, panelHeight, panels)
}
