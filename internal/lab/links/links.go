//go:build linux

// Package links is the verb links of schedlab.
package links

import (
	"context"
	"fmt"
	"io"

	"github.com/schedgen/schedgen/internal/lab/internal/host"
	"github.com/schedgen/schedgen/internal/lab/internal/program"
	"github.com/schedgen/schedgen/internal/terminal"
)

// Run measures and writes the results.
func (v *Verb) Run(ctx context.Context, std terminal.Stdio) error {
	if err := v.check(); err != nil {
		return err
	}
	r := new(results)
	if len(v.Network) == 0 {
		var err error
		if r, err = readResults(v.Path("csv")); err != nil {
			return err
		}
	}
	programs, err := program.Build(ctx, std.Err, program.Schedgen)
	if err != nil {
		return err
	}
	defer programs.Remove()
	if len(v.Network) > 0 {
		return v.compare(ctx, programs, std.Out, std.Err)
	}
	for i, c := range v.cells() {
		if err := ctx.Err(); err != nil {
			return err
		}
		row := r.rowOf(c)
		if !v.fill(ctx, programs, row) {
			continue
		}
		if err := ctx.Err(); err != nil {
			return err // an interrupted measurement is not a result
		}
		fmt.Fprintf(std.Err, "%d of %d: %v: %v\n", i+1, len(v.cells()), c, row)
		r.put(row)
		if err := v.writeFiles(ctx, r); err != nil {
			return err
		}
	}
	return v.writeFiles(ctx, r)
}

// writeFiles writes the results and replaces earlier files.
func (v *Verb) writeFiles(ctx context.Context, r *results) error {
	about := host.About(ctx)
	if v.Prefix != "" {
		about = append(about, fmt.Sprintf("ranks run by %s, beside other work", v.Prefix))
	}
	return v.Write(map[string]func(io.Writer) error{
		"csv": r.writeCSV,
		"md":  func(w io.Writer) error { return r.writeMarkdown(w, about) },
	})
}

// fill makes the measurement and the prediction that the row lacks. It reports whether it has made
// any.
func (v *Verb) fill(ctx context.Context, programs program.Programs, r *row) (done bool) {
	if v.Only != onlyPredict && (v.Again || r.measured.empty()) {
		r.iterations = v.iterationsOf(r.cell)
		r.others = v.Wait(ctx)
		r.measured = outcomeOf(measure(ctx, programs, v, r))
		done = true
	}
	if v.Only != onlyMeasure && (v.Again || r.predicted.empty()) {
		if r.iterations == 0 {
			r.iterations = v.iterationsOf(r.cell)
		}
		r.predicted = outcomeOf(predict(ctx, v.Limit, r))
		done = true
	}
	return done
}
