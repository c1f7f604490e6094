package compare

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/schedgen/schedgen/internal/lab/internal/bench"
)

// results holds all rows, and lines that describe them.
type results struct {
	about []string // lines for people
	rows  []row
}

// row is the result of a contender in a cell.
type row struct {
	cell
	side       string
	contender  string
	iterations int    // iterations of each run
	status     string // reason of a failure, or ""
	runs       []bench.Times
}

// transport returns the transport of a contender of schedgen, with which its name begins.
func (r *row) transport() string {
	name, _, _ := strings.Cut(r.contender, " ")
	return name
}

// mean returns the median over runs of the mean over iterations, in microseconds, or NaN without a
// run.
func (r *row) mean() float64 { return median(r.means()) }

// middle returns the median over runs of the median over iterations, in microseconds.
func (r *row) middle() float64 {
	return median(r.values(func(t *bench.Times) *float64 { return &t.Median }))
}

func (r *row) means() []float64 { return r.values(func(t *bench.Times) *float64 { return &t.Mean }) }

// values returns one value of each run.
func (r *row) values(of func(*bench.Times) *float64) (out []float64) {
	for i := range r.runs {
		out = append(out, *of(&r.runs[i]))
	}
	return out
}

// bounds returns the least and the largest mean of a run, or NaN without a run.
func (r *row) bounds() (least, most float64) {
	if len(r.runs) == 0 {
		return math.NaN(), math.NaN()
	}
	return slices.Min(r.means()), slices.Max(r.means())
}

func median(values []float64) float64 {
	if len(values) == 0 {
		return math.NaN()
	}
	sorted := slices.Sorted(slices.Values(values))
	half := len(sorted) / 2
	return (sorted[half] + sorted[len(sorted)-1-half]) / 2
}

// verdict compares schedgen's best contender with the best peer in a cell, by their means.
type verdict struct {
	cell
	ours, peer *row    // nil if there is none
	ratio      float64 // ratio of the means; NaN if one is missing
	lo, hi     float64 // least and greatest ratio of the means of a round
	medians    float64 // ratio of the medians over iterations
}

// judge returns the verdict of a cell.
func judge(c cell, rows []row) verdict {
	v := verdict{cell: c, ratio: math.NaN(), lo: math.NaN(), hi: math.NaN(), medians: math.NaN()}
	v.ours, v.peer = best(rows, ours), best(rows, peer)
	if v.ours == nil || v.peer == nil {
		return v
	}
	v.ratio = v.ours.mean() / v.peer.mean()
	v.medians = v.ours.middle() / v.peer.middle()
	var each []float64
	for i := range min(len(v.ours.runs), len(v.peer.runs)) {
		each = append(each, v.ours.runs[i].Mean/v.peer.runs[i].Mean)
	}
	v.lo, v.hi = slices.Min(each), slices.Max(each)
	return v
}

// best returns the row of a side with the smallest mean, among the rows with the most runs. A row
// with fewer runs has had fewer chances to be slow.
func best(rows []row, side string) *row {
	var out *row
	for i := range rows {
		r := &rows[i]
		if r.side != side || len(r.runs) == 0 {
			continue
		}
		if out == nil || len(r.runs) > len(out.runs) || len(r.runs) == len(out.runs) && r.mean() < out.mean() {
			out = r
		}
	}
	return out
}

// verdicts returns the verdicts of all cells, in the order of their rows.
func (r *results) verdicts() []verdict {
	byCell := map[cell][]row{}
	var order []cell
	for _, row := range r.rows {
		if row.side == raw {
			continue
		}
		if byCell[row.cell] == nil {
			order = append(order, row.cell)
		}
		byCell[row.cell] = append(byCell[row.cell], row)
	}
	var out []verdict
	for _, c := range order {
		out = append(out, judge(c, byCell[c]))
	}
	return out
}

// summary returns the verdict in one line.
func summary(c cell, rows []row) string {
	v := judge(c, rows)
	switch {
	case v.ours == nil && v.peer == nil:
		return "nobody: " + firstStatus(rows, ours)
	case v.ours == nil:
		return "ours: " + firstStatus(rows, ours)
	case v.peer == nil:
		return fmt.Sprintf("ours %s µs (%s), no peer", digits(v.ours.mean()), v.ours.contender)
	}
	return fmt.Sprintf("ours %s µs (%s), peer %s µs (%s), ratio %.2f",
		digits(v.ours.mean()), v.ours.contender, digits(v.peer.mean()), v.peer.contender, v.ratio)
}

func firstStatus(rows []row, side string) string {
	for i := range rows {
		if rows[i].side == side && rows[i].status != "" {
			return rows[i].status
		}
	}
	return "nothing was tried"
}

// digits spells a number with three digits.
func digits(x float64) string {
	switch {
	case math.IsNaN(x):
		return "-"
	case x >= 100:
		return fmt.Sprintf("%.0f", x)
	case x >= 10:
		return fmt.Sprintf("%.1f", x)
	}
	return fmt.Sprintf("%.2f", x)
}
