//go:build linux

package main

import (
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math"
	"strconv"

	"github.com/schedgen/schedgen/bench/internal/tool"
)

// columns are the columns of the CSV. Times are in seconds.
var columns = []string{
	"algorithm", "rate_bps", "loss_per_mille", "bytes", "hosts", "iterations", "others", "wire_s",
	"min_s", "median_s", "max_s", "failed", "predicted_min_s", "predicted_s", "predicted_max_s", "prediction_failed",
}

func (r *report) writeCSV(w io.Writer) error {
	out := csv.NewWriter(w)
	if err := out.Write(columns); err != nil {
		return err
	}
	for _, row := range r.rows {
		if err := out.Write(row.record()); err != nil {
			return err
		}
	}
	out.Flush()
	return out.Error()
}

func (r *row) record() []string {
	m, p := &r.measured, &r.predicted
	return []string{
		r.algorithm, strconv.FormatInt(r.rate, 10), strconv.Itoa(r.perMille), strconv.Itoa(r.bytes), strconv.Itoa(r.hosts),
		strconv.Itoa(r.iterations), float(r.others, 2), float(r.wire(), 6),
		float(m.min, 6), float(m.median, 6), float(m.max, 6), m.failed,
		float(p.min, 6), float(p.median, 6), float(p.max, 6), p.failed,
	}
}

func float(x float64, digits int) string { return strconv.FormatFloat(x, 'f', digits, 64) }

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
	var errs []error
	for i, v := range map[int]*int{2: &r.perMille, 3: &r.bytes, 4: &r.hosts, 5: &r.iterations} {
		n, err := strconv.Atoi(f[i])
		if err == nil && n < 0 {
			err = fmt.Errorf("%s: %q is negative", columns[i], f[i])
		}
		*v, errs = n, append(errs, err)
	}
	for i, v := range map[int]*float64{6: &r.others, 8: &m.min, 9: &m.median, 10: &m.max, 12: &p.min, 13: &p.median, 14: &p.max} {
		x, err := strconv.ParseFloat(f[i], 64)
		if err == nil && !(x >= -1 && x < math.MaxFloat64) {
			err = fmt.Errorf("%s: %q is no time", columns[i], f[i])
		}
		*v, errs = x, append(errs, err)
	}
	rate, err := strconv.ParseInt(f[1], 10, 64)
	r.rate = rate
	return r, errors.Join(append(errs, err)...)
}
