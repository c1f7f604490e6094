//go:build linux

package links

import (
	"errors"
	"io"
	"io/fs"
	"slices"

	"github.com/schedgen/schedgen/internal/lab/internal/report"
)

// table is the form of the CSV. Times are in seconds.
var table = report.Table[row]{What: "a report on links", Columns: []report.Column[row]{
	report.Text("algorithm", func(r *row) *string { return &r.algorithm }),
	report.Whole("rate_bps", func(r *row) *int64 { return &r.rate }),
	report.Whole("loss_per_mille", func(r *row) *int { return &r.perMille }),
	report.Whole("bytes", func(r *row) *int { return &r.bytes }),
	report.Whole("hosts", func(r *row) *int { return &r.hosts }),
	report.Whole("iterations", func(r *row) *int { return &r.iterations }),
	report.Time("others", 2, func(r *row) *float64 { return &r.others }),
	report.Computed("wire_s", func(r *row) string { return report.Float(r.wire(), 6) }),
	report.Time("min_s", 6, func(r *row) *float64 { return &r.measured.min }),
	report.Time("median_s", 6, func(r *row) *float64 { return &r.measured.median }),
	report.Time("max_s", 6, func(r *row) *float64 { return &r.measured.max }),
	report.Text("failed", func(r *row) *string { return &r.measured.failed }),
	report.Time("predicted_min_s", 6, func(r *row) *float64 { return &r.predicted.min }),
	report.Time("predicted_s", 6, func(r *row) *float64 { return &r.predicted.median }),
	report.Time("predicted_max_s", 6, func(r *row) *float64 { return &r.predicted.max }),
	report.Text("prediction_failed", func(r *row) *string { return &r.predicted.failed }),
}}

func (r *results) writeCSV(w io.Writer) error { return table.Write(w, slices.Values(r.rows)) }

// readResults reads a file that writeCSV has written. A file that does not exist is an empty report.
func readResults(name string) (*results, error) {
	rows, err := table.ReadFile(name)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	r := new(results)
	for _, row := range rows {
		r.put(row)
	}
	return r, nil
}
