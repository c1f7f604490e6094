//go:build linux

package links

import (
	"fmt"
	"slices"

	"github.com/schedgen/schedgen/internal/lab/internal/report"
	"github.com/schedgen/schedgen/internal/lab/internal/units"
)

// row holds the results of a cell.
type row struct {
	cell
	iterations int
	others     float64 // share of the cores that other work used before; below 0: unknown
	measured   outcome
	predicted  outcome
}

// outcome holds times, or the reason why there are none. The zero value means that nothing was
// tried.
type outcome struct {
	times
	failed string
}

func outcomeOf(t times, err error) outcome {
	if err != nil {
		return outcome{failed: report.OneLine(err)}
	}
	return outcome{times: t}
}

func (o *outcome) empty() bool { return *o == outcome{} }
func (o *outcome) good() bool  { return o.median > 0 }

func (o outcome) String() string {
	switch {
	case o.good():
		return fmt.Sprintf("%s s", units.Seconds(o.median))
	case o.failed != "":
		return o.failed
	}
	return "-"
}

func (r *row) String() string {
	return fmt.Sprintf("measured %v, predicted %v, ratio %s", r.measured, r.predicted, ratio(r.measured.median, r.predicted.median))
}

// results holds all rows, in the order of compareCells.
type results struct{ rows []*row }

// rowOf returns a copy of the row of a cell, or a new row.
func (r *results) rowOf(c cell) *row {
	if found := r.find(c); found != nil {
		known := *found
		return &known
	}
	return &row{cell: c, others: -1}
}

func (r *results) find(c cell) *row {
	i := slices.IndexFunc(r.rows, func(row *row) bool { return row.cell == c })
	if i < 0 {
		return nil
	}
	return r.rows[i]
}

// put stores a row at its place.
func (r *results) put(known *row) {
	r.rows = slices.DeleteFunc(r.rows, func(o *row) bool { return o.cell == known.cell })
	r.rows = append(r.rows, known)
	slices.SortFunc(r.rows, func(a, b *row) int { return compareCells(a.cell, b.cell) })
}

// coreShare is the share of a cell's time at or above which the cores count as the limit.
const coreShare = 0.3

// byCores reports whether the cores of the machine, which simulates all hosts, limit a cell, and
// not its links: its links are unlimited, or the same cell with unlimited links takes at least
// three tenths of the time.
func (r *results) byCores(of *row) bool {
	free := of.cell
	free.rate = 0
	f := r.find(free)
	return of.rate == 0 || f != nil && f.measured.good() && of.measured.good() && f.measured.median >= coreShare*of.measured.median
}

func ratio(a, b float64) string {
	if a <= 0 || b <= 0 {
		return "-"
	}
	return fmt.Sprintf("%.2f", a/b)
}
