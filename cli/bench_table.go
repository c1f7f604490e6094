package cli

import (
	"fmt"
	"math"
	"text/tabwriter"

	"github.com/schedgen/schedgen/cli/internal/crew"
	"github.com/schedgen/schedgen/internal/command"
	"github.com/schedgen/schedgen/internal/terminal"
)

// benchObject is the object that --json prints for an algorithm. Times are in microseconds: the
// mean, median and 99th percentile over iterations of the maximum over ranks.
type benchObject struct {
	Op         string  `json:"op"`
	Algorithm  string  `json:"algorithm"`
	Ranks      int     `json:"ranks"`
	Bytes      int64   `json:"bytes"`
	Counts     []int64 `json:"counts,omitempty"`
	Transport  string  `json:"transport"`
	Key        bool    `json:"key,omitempty"` // traffic is authenticated
	Encrypted  bool    `json:"encrypted,omitempty"`
	Iterations int     `json:"iterations"`
	Mean       float64 `json:"mean_max_us"`
	Median     float64 `json:"median_max_us"`
	P99        float64 `json:"p99_max_us"`
	Copies     int     `json:"copies,omitempty"` // copies made of a long chunk between ranks that share memory
}

// benchOutput prints results: an object at once, the table at the end.
type benchOutput struct {
	std   terminal.Stdio
	json  bool
	table *tabwriter.Writer // nil until the first result
}

// printResult prints the result of one algorithm.
func (o *benchOutput) printResult(j *crew.Job, t *crew.Tally) error {
	if o.json {
		micro := func(q float64) float64 { return float64(t.Slowest.ValueAtQuantile(q)) / 1e3 }
		return terminal.WriteJSON(o.std.Out, benchObject{
			Op: j.Operation.Name, Algorithm: j.Algorithm, Ranks: j.Params.Ranks, Bytes: j.Size, Counts: j.Counts, Transport: j.Link.Transport,
			Key: len(j.Link.Key) > 0, Encrypted: j.Link.Encrypt,
			Iterations: j.Iterations, Mean: math.Round(t.Slowest.Mean()) / 1e3, Median: micro(50), P99: micro(99), Copies: copies(j, t),
		}, "")
	}
	if o.table == nil {
		o.start(j, t)
	}
	fmt.Fprintf(o.table, "%s\t", j.Algorithm)
	for _, ns := range []float64{
		t.Slowest.Mean(), float64(t.Slowest.Min()), float64(crew.Quantile(t.Slowest, 50)), float64(crew.Quantile(t.Slowest, 90)),
		float64(crew.Quantile(t.Slowest, 99)), float64(t.Slowest.Max()),
	} {
		fmt.Fprintf(o.table, "%s\t", digits(ns/1e3))
	}
	fmt.Fprintln(o.table)
	return nil
}

// copies returns how often a long chunk is copied between ranks that share memory; 0 means that no
// such chunk exists.
func copies(j *crew.Job, t *crew.Tally) (n int) {
	for i := range t.Ranks {
		if j.Size > 0 {
			n = max(n, t.Ranks[i].Outcome.Copies)
		}
	}
	return n
}

// copyWords tells how often long chunks are copied, and if twice, why.
func copyWords(j *crew.Job, t *crew.Tally) string {
	switch copies(j, t) {
	case 0:
		return ""
	case 1:
		return "; each put of a long chunk copies it once"
	}
	why := ""
	for i := range t.Ranks {
		if of := t.Ranks[i].Outcome.Twice; of != "" {
			why = fmt.Sprintf("; rank %d cannot read others: %s", i, of)
			break
		}
	}
	return "; each put of a long chunk copies it twice" + why
}

// start prints a line that tells what is measured, and the names of the columns.
func (o *benchOutput) start(j *crew.Job, t *crew.Tally) {
	of, op := "", operationNamed(j.Operation.Name)
	if rowOf(op.collective).Blocks != nil {
		of = " of " + lengths(j)
	}
	times, unit := command.Count(j.Iterations, "iteration"), "µs"
	if op.Loop {
		times, unit = fmt.Sprintf("%s of %s", command.Count(crew.Loops, "loop"), command.Count(j.Iterations, "message")), "µs a message"
	}
	fmt.Fprintf(o.std.Out, "%s%s, %s over %s%s, %s; %s, of the slowest rank%s\n",
		j.Operation.Name, of, command.Count(j.Params.Ranks, "rank"), j.Link.Transport, keyOf(&j.Link).suffix(), times, unit, copyWords(j, t))
	o.table = tabwriter.NewWriter(o.std.Out, 0, 0, 3, ' ', tabwriter.AlignRight)
	fmt.Fprintln(o.table, "algorithm\tmean\tmin\tmedian\tp90\tp99\tmax\t")
}

// flush prints the table.
func (o *benchOutput) flush() error {
	if o.table == nil {
		return nil
	}
	return o.table.Flush()
}
