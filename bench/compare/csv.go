package main

import (
	"errors"
	"fmt"
	"io"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/schedgen/schedgen/bench/internal/tool"
)

// columns are the columns of the CSV. Times are in microseconds: statistics over iterations of the
// maximum over ranks. mean_us, median_us and p99_us are medians over runs, and the last three
// columns hold the values of every run.
var columns = []string{
	"wire", "op", "ranks", "bytes", "side", "contender", "status", "iterations", "runs",
	"mean_us", "min_mean_us", "max_mean_us", "median_us", "p99_us", "means_us", "medians_us", "p99s_us",
}

func (r *results) writeCSV(w io.Writer) error {
	return tool.WriteCSV(w, func(yield func([]string) bool) {
		for i := -1; i < len(r.rows); i++ {
			record := columns
			if i >= 0 {
				record = r.rows[i].record()
			}
			if !yield(record) {
				return
			}
		}
	})
}

func (r *row) record() []string {
	least, most := math.NaN(), math.NaN()
	if len(r.runs) > 0 {
		least, most = slices.Min(r.means()), slices.Max(r.means())
	}
	return []string{
		r.wire, r.op, strconv.Itoa(r.ranks), strconv.Itoa(r.bytes), r.side, r.contender, r.status,
		strconv.Itoa(r.iterations), strconv.Itoa(len(r.runs)),
		micro(r.mean()), micro(least), micro(most), micro(r.middle()), micro(median(r.p99s())),
		micros(r.means()), micros(r.medians()), micros(r.p99s()),
	}
}

func micro(x float64) string {
	if math.IsNaN(x) {
		return ""
	}
	return tool.Float(x, 3)
}

func micros(values []float64) string {
	var out []string
	for _, x := range values {
		out = append(out, micro(x))
	}
	return strings.Join(out, ";")
}

// readCSV reads a file that writeCSV has written.
func readCSV(name string) (*results, error) {
	return tool.ReadFile(name, parseCSV)
}

func parseCSV(in io.Reader) (*results, error) {
	r := new(results)
	err := tool.ReadCSV(in, columns, "a comparison", func(record []string) error {
		row, err := parseRow(record)
		if err == nil {
			r.rows = append(r.rows, row)
		}
		return err
	})
	if err != nil {
		return nil, err
	}
	return r, nil
}

func parseRow(f []string) (row, error) {
	r := row{cell: cell{wire: f[0], op: f[1]}, side: f[4], contender: f[5], status: f[6]}
	fields := tool.NewFields(columns, f)
	r.ranks, r.bytes, r.iterations = fields.Int(2), fields.Int(3), fields.Int(7)
	errs := [4]error{3: fields.Err()}
	var lists [3][]float64
	for i := range lists {
		lists[i], errs[i] = parseMicros(f[14+i])
	}
	if err := errors.Join(errs[:]...); err != nil {
		return r, err
	}
	if len(lists[0]) != len(lists[1]) || len(lists[0]) != len(lists[2]) {
		return r, errors.New("the runs differ in number")
	}
	for i := range lists[0] {
		r.runs = append(r.runs, timing{lists[0][i], lists[1][i], lists[2][i]})
	}
	return r, nil
}

func parseMicros(text string) ([]float64, error) {
	if text == "" {
		return nil, nil
	}
	var out []float64
	for part := range strings.SplitSeq(text, ";") {
		x, err := strconv.ParseFloat(part, 64)
		if err == nil && !(x > 0 && x < math.MaxFloat64) {
			err = fmt.Errorf("%q is no time", part)
		}
		if err != nil {
			return nil, err
		}
		out = append(out, x)
	}
	return out, nil
}
