//go:build linux

package main

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"slices"

	"github.com/schedgen/schedgen/bench/internal/tool"
)

// table is the form of the CSV, which has a line for each measurement. Times are in seconds.
var table = tool.Table[row]{What: "a report on casts", Columns: []tool.Column[row]{
	tool.Whole("bytes", func(r *row) *int { return &r.Bytes }),
	tool.Whole("hosts", func(r *row) *int { return &r.Hosts }),
	tool.Whole("rate_bps", func(r *row) *int64 { return &r.Rate }),
	tool.Whole("loss_per_mille", func(r *row) *int { return &r.PerMille }),
	tool.Text("fault", func(r *row) *string { return &r.Fault }),
	tool.Text("tool", func(r *row) *string { return &r.Tool }),
	tool.Whole("round", func(r *row) *int { return &r.Round }),
	tool.Time("others", 2, func(r *row) *float64 { return &r.Others }),
	tool.Text("store", func(r *row) *string { return &r.Store }),
	tool.Text("way", func(r *row) *string { return &r.Way }),
	tool.Computed("wire_s", func(r *row) string { return tool.Float(r.wire(), 6) }),
	tool.Time("ended_s", 6, func(r *row) *float64 { return &r.Ended }),
	tool.Time("healthy_s", 6, func(r *row) *float64 { return &r.Healthy }),
	tool.Time("told_s", 6, func(r *row) *float64 { return &r.Told }),
	tool.Time("sender_cpu_s", 3, func(r *row) *float64 { return &r.SenderCPU }),
	tool.Time("receivers_cpu_s", 3, func(r *row) *float64 { return &r.ReceiversCPU }),
	tool.Whole("sender_memory", func(r *row) *int64 { return &r.SenderMemory }),
	tool.Whole("receivers_memory", func(r *row) *int64 { return &r.ReceiversMemory }),
	tool.Whole("sent", func(r *row) *int64 { return &r.Sent }),
	tool.Whole("received", func(r *row) *int64 { return &r.Received }),
	tool.Text("failed", func(r *row) *string { return &r.Failed }),
}}

// report holds all measurements of a file.
type report struct {
	name string
	rows []*row
}

// openReport creates a file, or reads the file that exists.
func openReport(o *options) (*report, error) {
	if err := os.MkdirAll(o.out, 0o777); err != nil {
		return nil, fmt.Errorf("--out: %w", err)
	}
	r := &report{name: o.file(".csv")}
	if o.keep {
		rows, err := table.ReadFile(r.name)
		if !errors.Is(err, fs.ErrNotExist) {
			r.rows = rows
			return r, err
		}
	}
	return r, tool.Replace(r.name, func(w io.Writer) error { return table.Write(w, slices.Values([]*row(nil))) })
}

// aboutKept tells for the table how many measurements earlier runs have made. The head of the table
// describes this run.
func (r *report) aboutKept() []string {
	if len(r.rows) == 0 {
		return nil
	}
	return []string{fmt.Sprintf("%d of the measurements were made by runs before, of this commit or others", len(r.rows))}
}

// append adds a measurement to the file at once.
func (r *report) append(of *row) error {
	f, err := os.OpenFile(r.name, os.O_WRONLY|os.O_APPEND, 0)
	if err != nil {
		return err
	}
	r.rows = append(r.rows, of)
	return errors.Join(table.Append(f, of), f.Close())
}

// known reports whether a measurement can be skipped, because it is in the file or the tool has
// failed in this cell before.
func (r *report) known(t trial) bool {
	return slices.ContainsFunc(r.rows, func(of *row) bool {
		return of.trial == t || of.cell == t.cell && of.Tool == t.Tool && of.Failed != ""
	})
}
