//go:build linux

package cast

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"slices"

	"github.com/schedgen/schedgen/internal/lab/internal/report"
)

// table is the form of the CSV, which has a line for each measurement. Times are in seconds.
var table = report.Table[row]{What: "a report on casts", Columns: []report.Column[row]{
	report.Whole("bytes", func(r *row) *int { return &r.Bytes }),
	report.Whole("hosts", func(r *row) *int { return &r.Hosts }),
	report.Whole("rate_bps", func(r *row) *int64 { return &r.Rate }),
	report.Whole("loss_per_mille", func(r *row) *int { return &r.PerMille }),
	report.Text("fault", func(r *row) *string { return &r.Fault }),
	report.Text("tool", func(r *row) *string { return &r.Tool }),
	report.Whole("round", func(r *row) *int { return &r.Round }),
	report.Time("others", 2, func(r *row) *float64 { return &r.Others }),
	report.Text("store", func(r *row) *string { return &r.Store }),
	report.Text("way", func(r *row) *string { return &r.Way }),
	report.Computed("wire_s", func(r *row) string { return report.Float(r.wire(), 6) }),
	report.Time("ended_s", 6, func(r *row) *float64 { return &r.Ended }),
	report.Time("healthy_s", 6, func(r *row) *float64 { return &r.Healthy }),
	report.Time("told_s", 6, func(r *row) *float64 { return &r.Told }),
	report.Time("sender_cpu_s", 3, func(r *row) *float64 { return &r.SenderCPU }),
	report.Time("receivers_cpu_s", 3, func(r *row) *float64 { return &r.ReceiversCPU }),
	report.Whole("sender_memory", func(r *row) *int64 { return &r.SenderMemory }),
	report.Whole("receivers_memory", func(r *row) *int64 { return &r.ReceiversMemory }),
	report.Whole("sent", func(r *row) *int64 { return &r.Sent }),
	report.Whole("received", func(r *row) *int64 { return &r.Received }),
	report.Text("failed", func(r *row) *string { return &r.Failed }),
}}

// results holds all measurements of a file.
type results struct {
	name string
	rows []*row
}

// openReport creates a file, or reads the file that exists.
func (v *Verb) openReport() (*results, error) {
	r := &results{name: v.Path("csv")}
	if !v.Again {
		rows, err := table.ReadFile(r.name)
		if !errors.Is(err, fs.ErrNotExist) {
			r.rows = rows
			return r, err
		}
	}
	return r, v.Write(map[string]func(io.Writer) error{"csv": func(w io.Writer) error { return table.Write(w, slices.Values([]*row(nil))) }})
}

// aboutKept tells for the table how many measurements earlier runs have made. The head of the table
// describes this run.
func (r *results) aboutKept() []string {
	if len(r.rows) == 0 {
		return nil
	}
	return []string{fmt.Sprintf("%d of the measurements were made by runs before, of this commit or others", len(r.rows))}
}

// append adds a measurement to the file at once.
func (r *results) append(of *row) error {
	f, err := os.OpenFile(r.name, os.O_WRONLY|os.O_APPEND, 0)
	if err != nil {
		return err
	}
	r.rows = append(r.rows, of)
	return errors.Join(table.Append(f, of), f.Close())
}

// known reports whether a measurement can be skipped, because it is in the file or the tool has
// failed in this cell before.
func (r *results) known(t trial) bool {
	return slices.ContainsFunc(r.rows, func(of *row) bool {
		return of.trial == t || of.cell == t.cell && of.Tool == t.Tool && of.Failed != ""
	})
}
