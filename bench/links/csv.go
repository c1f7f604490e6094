//go:build linux

package main

import (
	"errors"
	"io"
	"io/fs"
	"strconv"

	"github.com/schedgen/schedgen/bench/internal/tool"
)

// columns are the columns of the CSV. Times are in seconds.
var columns = []string{
	"algorithm", "rate_bps", "loss_per_mille", "bytes", "hosts", "iterations", "others", "wire_s",
	"min_s", "median_s", "max_s", "failed", "predicted_min_s", "predicted_s", "predicted_max_s", "prediction_failed",
}

func (r *report) writeCSV(w io.Writer) error {
	return tool.WriteCSV(w, func(yield func([]string) bool) {
		if !yield(columns) {
			return
		}
		for _, row := range r.rows {
			if !yield(row.record()) {
				return
			}
		}
	})
}

func (r *row) record() []string {
	m, p := &r.measured, &r.predicted
	return []string{
		r.algorithm, strconv.FormatInt(r.rate, 10), strconv.Itoa(r.perMille), strconv.Itoa(r.bytes), strconv.Itoa(r.hosts),
		strconv.Itoa(r.iterations), tool.Float(r.others, 2), tool.Float(r.wire(), 6),
		tool.Float(m.min, 6), tool.Float(m.median, 6), tool.Float(m.max, 6), m.failed,
		tool.Float(p.min, 6), tool.Float(p.median, 6), tool.Float(p.max, 6), p.failed,
	}
}

// readReport reads a file that writeCSV has written. A file that does not exist is an empty report.
func readReport(name string) (*report, error) {
	r, err := tool.ReadFile(name, parseCSV)
	if errors.Is(err, fs.ErrNotExist) {
		return new(report), nil
	}
	return r, err
}

func parseCSV(in io.Reader) (*report, error) {
	r := new(report)
	err := tool.ReadCSV(in, columns, "a report on links", func(record []string) error {
		row, err := parseRow(record)
		if err == nil {
			r.settle(row)
		}
		return err
	})
	if err != nil {
		return nil, err
	}
	return r, nil
}

func parseRow(f []string) (*row, error) {
	r := new(row)
	m, p := &r.measured, &r.predicted
	r.algorithm, m.failed, p.failed = f[0], f[11], f[15]
	fields := tool.NewFields(columns, f)
	r.rate = fields.Int64(1)
	for i, v := range map[int]*int{2: &r.perMille, 3: &r.bytes, 4: &r.hosts, 5: &r.iterations} {
		*v = fields.Int(i)
	}
	for i, v := range map[int]*float64{6: &r.others, 8: &m.min, 9: &m.median, 10: &m.max, 12: &p.min, 13: &p.median, 14: &p.max} {
		*v = fields.Time(i)
	}
	return r, fields.Err()
}
