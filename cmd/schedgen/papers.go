package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/schedgen/schedgen/cmd/schedgen/internal/complete"
	"github.com/schedgen/schedgen/sim/papers"
)

// papersCmd is the verb papers.
type papersCmd struct {
	Figure     string `placeholder:"ID" complete:"figure" help:"Make this figure, such as 000/4, or those of a paper, such as 000; default all."`
	List       bool   `help:"List the figures."`
	Out        string `placeholder:"DIR" complete:"file" help:"Write a picture and a CSV of each figure to DIR, which is made if it is not there."`
	Seed       uint64 `default:"1" help:"Seed of losses and arrivals."`
	Real       bool   `name:"run" help:"Run ranks of this machine too, where a figure has something to run."`
	Iterations int    `default:"500" placeholder:"N" help:"With --run: operations that are timed for each point, default 500."`
}

// Help is the long help text.
func (papersCmd) Help() string {
	return `Makes the figures and tables of the five papers that the algorithms come from: what the paper's
text states, what a closed form gives, what the simulator gives, and with --run what ranks of this
machine take, as bench does. The text of the papers is all that there is of them: where it gives no
times, the parameters of a machine are fitted, and each figure says to what.

Without --out a table of each figure goes to the standard output; with it ID.svg and ID.csv, a - in
place of the /, go to a directory.

Examples:

  schedgen papers --list
  schedgen papers --figure 000/4
  schedgen papers --out figures
  schedgen papers --figure 003/7 --run`
}

// maxPapersIterations bounds what each point of a run takes.
const maxPapersIterations = 100_000

// papersTimeout is after what time a point of a run is given up.
const papersTimeout = 5 * time.Minute

// Run makes the figures.
func (c *papersCmd) Run(ctx context.Context, std stdio) error {
	entries, err := papers.Find(c.Figure)
	switch {
	case err != nil:
		return fmt.Errorf("--figure: %w; schedgen papers --list names all", err)
	case c.Iterations < 1 || c.Iterations > maxPapersIterations:
		return fmt.Errorf("--iterations=%d: must be in 1..%d", c.Iterations, maxPapersIterations)
	case c.List:
		return listFigures(ctxWriter{ctx, std.Out}, entries)
	}
	if c.Out != "" {
		if err := os.MkdirAll(c.Out, 0o777); err != nil {
			return fmt.Errorf("--out: %w", err)
		}
	}
	o := papers.Options{Seed: c.Seed}
	if c.Real {
		o.Ranks = c.runner(std)
	}
	bar := newProgress(std, len(entries), "figures")
	defer bar.clear()
	for i := range entries {
		f, err := await(ctx, func() (*papers.Figure, error) { return entries[i].Make(ctx, o) })
		if err != nil {
			return err
		}
		bar.clear()
		if err := c.put(ctxWriter{ctx, std.Out}, f, i > 0); err != nil {
			return err
		}
		bar.advance()
	}
	return nil
}

// put prints a figure, or writes its files and names them.
func (c *papersCmd) put(w io.Writer, f *papers.Figure, behind bool) error {
	if c.Out == "" {
		if behind {
			if _, err := fmt.Fprintln(w); err != nil {
				return err
			}
		}
		return f.WriteTable(w)
	}
	name := filepath.Join(c.Out, strings.ReplaceAll(f.ID, "/", "-"))
	err := errors.Join(writeFile("out", name+".svg", func(w io.Writer) error { return drawFigure(w, f) }), writeFile("out", name+".csv", f.WriteCSV))
	if err != nil {
		return err
	}
	_, err = fmt.Fprintf(w, "%s  %s.svg, %s.csv\n", f.ID, name, name)
	return err
}

func listFigures(w io.Writer, entries []papers.Entry) error {
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	for _, e := range entries {
		fmt.Fprintf(t, "%s\t%s\n", e.ID, e.Title)
	}
	return t.Flush()
}

// runner times operations as bench does, over mcast if that works here, else tcp.
func (c *papersCmd) runner(std stdio) papers.Runner {
	return func(ctx context.Context, j papers.Job) (float64, error) {
		b := benchCmd{Operation: j.Operation, Iterations: &c.Iterations, runFlags: runFlags{
			Ranks: &rankRange{j.Params.Ranks, j.Params.Ranks}, Algorithm: j.Algorithm,
			Seed: c.Seed, Timeout: papersTimeout, Silence: papersTimeout,
		}}
		if rowOf(operationNamed(j.Operation).collective).Blocks != nil {
			size := byteSize(j.Bytes)
			b.Size = &size
		}
		if j.Params.Degree > 0 {
			b.Degree = &j.Params.Degree
		}
		base, err := b.job(ctx, std)
		if err != nil {
			return 0, err
		}
		jobs, err := b.plan(&base, std)
		if err != nil {
			return 0, err
		}
		t, err := b.measure(ctx, std, &jobs[0], runProgress{})
		if err != nil {
			return 0, fmt.Errorf("%s among %d ranks: %w", j.Algorithm, j.Params.Ranks, err)
		}
		return t.slowest.Mean() / float64(time.Microsecond), nil
	}
}

// figureWords are the figures, as the shell completes them.
func figureWords(complete.Place) []complete.Word {
	var words []complete.Word
	for _, e := range papers.List() {
		words = append(words, complete.Word{Text: e.ID, Help: e.Title})
	}
	return words
}
