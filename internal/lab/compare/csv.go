package compare

import (
	"errors"
	"fmt"
	"io"
	"math"
	"strconv"
	"strings"

	"github.com/schedgen/schedgen/internal/lab/internal/bench"
	"github.com/schedgen/schedgen/internal/lab/internal/report"
)

// table is the form of the CSV. Times are in microseconds: statistics over iterations of the
// maximum over ranks. mean_us, median_us and p99_us are medians over runs, and the last three
// columns hold the values of every run.
var table = report.Table[row]{What: "a comparison", Columns: []report.Column[row]{
	report.Text("wire", func(r *row) *string { return &r.wire }),
	report.Text("op", func(r *row) *string { return &r.op }),
	report.Whole("ranks", func(r *row) *int { return &r.ranks }),
	report.Whole("bytes", func(r *row) *int { return &r.bytes }),
	report.Text("side", func(r *row) *string { return &r.side }),
	report.Text("contender", func(r *row) *string { return &r.contender }),
	report.Text("status", func(r *row) *string { return &r.status }),
	report.Whole("iterations", func(r *row) *int { return &r.iterations }),
	report.Computed("runs", func(r *row) string { return strconv.Itoa(len(r.runs)) }),
	report.Computed("mean_us", func(r *row) string { return micros(r.mean()) }),
	report.Computed("min_mean_us", func(r *row) string { least, _ := r.bounds(); return micros(least) }),
	report.Computed("max_mean_us", func(r *row) string { _, most := r.bounds(); return micros(most) }),
	report.Computed("median_us", func(r *row) string { return micros(r.middle()) }),
	report.Computed("p99_us", func(r *row) string { return micros(median(r.values(p99))) }),
	{Name: "means_us", Write: func(r *row) string { return micros(r.means()...) }, Read: readMeans},
	perRun("medians_us", func(t *bench.Times) *float64 { return &t.Median }),
	perRun("p99s_us", p99),
}}

func p99(t *bench.Times) *float64 { return &t.P99 }

// perRun returns a column of the value of each run. The means come before, and say how many runs
// there are.
func perRun(name string, of func(*bench.Times) *float64) report.Column[row] {
	return report.Column[row]{Name: name,
		Write: func(r *row) string { return micros(r.values(of)...) },
		Read: func(text string, r *row) error {
			values, err := parseMicros(text)
			if err == nil && len(values) != len(r.runs) {
				err = errors.New("the runs differ in number")
			}
			if err != nil {
				return err
			}
			for i, x := range values {
				*of(&r.runs[i]) = x
			}
			return nil
		}}
}

// readMeans reads the mean of each run.
func readMeans(text string, r *row) error {
	values, err := parseMicros(text)
	for _, x := range values {
		r.runs = append(r.runs, bench.Times{Mean: x})
	}
	return err
}

// micros returns the text of times. NaN is an unknown time.
func micros(values ...float64) string {
	var out []string
	for _, x := range values {
		text := ""
		if !math.IsNaN(x) {
			text = report.Float(x, 3)
		}
		out = append(out, text)
	}
	return strings.Join(out, ";")
}

func parseMicros(text string) (values []float64, err error) {
	if text == "" {
		return nil, nil
	}
	for part := range strings.SplitSeq(text, ";") {
		x, err := strconv.ParseFloat(part, 64)
		if err == nil && !(x > 0 && x < math.MaxFloat64) {
			err = fmt.Errorf("%q is no time", part)
		}
		if err != nil {
			return nil, err
		}
		values = append(values, x)
	}
	return values, nil
}

func (r *results) writeCSV(w io.Writer) error {
	return table.Write(w, func(yield func(*row) bool) {
		for i := range r.rows {
			if !yield(&r.rows[i]) {
				return
			}
		}
	})
}

// readResults reads a file that writeCSV has written.
func readResults(name string) (*results, error) {
	rows, err := table.ReadFile(name)
	if err != nil {
		return nil, err
	}
	r := new(results)
	for _, row := range rows {
		r.rows = append(r.rows, *row)
	}
	return r, nil
}
