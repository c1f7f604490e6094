//go:build linux

package main

import (
	"errors"
	"io"
	"io/fs"
	"slices"

	"github.com/schedgen/schedgen/bench/internal/tool"
)

// table is the form of the CSV. Times are in seconds.
var table = tool.Table[row]{What: "a report on links", Columns: []tool.Column[row]{
	tool.Text("algorithm", func(r *row) *string { return &r.algorithm }),
	tool.Whole("rate_bps", func(r *row) *int64 { return &r.rate }),
	tool.Whole("loss_per_mille", func(r *row) *int { return &r.perMille }),
	tool.Whole("bytes", func(r *row) *int { return &r.bytes }),
	tool.Whole("hosts", func(r *row) *int { return &r.hosts }),
	tool.Whole("iterations", func(r *row) *int { return &r.iterations }),
	tool.Time("others", 2, func(r *row) *float64 { return &r.others }),
	tool.Computed("wire_s", func(r *row) string { return tool.Float(r.wire(), 6) }),
	tool.Time("min_s", 6, func(r *row) *float64 { return &r.measured.min }),
	tool.Time("median_s", 6, func(r *row) *float64 { return &r.measured.median }),
	tool.Time("max_s", 6, func(r *row) *float64 { return &r.measured.max }),
	tool.Text("failed", func(r *row) *string { return &r.measured.failed }),
	tool.Time("predicted_min_s", 6, func(r *row) *float64 { return &r.predicted.min }),
	tool.Time("predicted_s", 6, func(r *row) *float64 { return &r.predicted.median }),
	tool.Time("predicted_max_s", 6, func(r *row) *float64 { return &r.predicted.max }),
	tool.Text("prediction_failed", func(r *row) *string { return &r.predicted.failed }),
}}

func (r *report) writeCSV(w io.Writer) error { return table.Write(w, slices.Values(r.rows)) }

// readReport reads a file that writeCSV has written. A file that does not exist is an empty report.
func readReport(name string) (*report, error) {
	rows, err := table.ReadFile(name)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	r := new(report)
	for _, row := range rows {
		r.put(row)
	}
	return r, nil
}
