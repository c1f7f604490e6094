// Package papers is the verb papers of schedlab.
package papers

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/schedgen/schedgen/internal/command/complete"
	"github.com/schedgen/schedgen/internal/lab/internal/bench"
	"github.com/schedgen/schedgen/internal/lab/internal/program"
	"github.com/schedgen/schedgen/internal/model/papers"
	"github.com/schedgen/schedgen/internal/terminal"
)

// Verb makes the figures of the papers.
type Verb struct {
	Figure     string `placeholder:"ID" complete:"figure" help:"Figure to make, such as 000/4, or a paper whose figures are made, such as 000; default all."`
	List       bool   `help:"List the figures."`
	Out        string `placeholder:"DIR" complete:"directory" help:"Write a picture and a CSV file of each figure to DIR, which is created if it does not exist."`
	Seed       uint64 `default:"1" help:"Seed of losses and arrivals."`
	Real       bool   `name:"run" help:"Also run ranks of this machine, for figures that have something to run."`
	Iterations int    `default:"500" placeholder:"N" help:"With --run: operations to time for each point; default 500."`
}

// Help is the long help text.
func (Verb) Help() string {
	return `Makes the figures and tables of the five papers that the algorithms come from. Each shows the
values that the text of the paper states, those of a closed form and those of the simulator. --run
adds times of ranks of this machine, measured as bench does. If a paper states no times, the
parameters of its machine are fitted; the figure tells to which values.

By default it prints a table of each figure. With --out it writes ID.svg and ID.csv to a directory,
with - in place of the / of the ID.

Examples:

  schedlab papers --list
  schedlab papers --figure 000/4
  schedlab papers --out figures
  schedlab papers --figure 003/7 --run`
}

// maxPapersIterations bounds the operations of each point of a run.
const maxPapersIterations = 100_000

// papersTimeout is the longest time that a point of a run may take.
const papersTimeout = 5 * time.Minute

// Run makes the figures.
func (c *Verb) Run(ctx context.Context, std terminal.Stdio) error {
	entries, err := papers.Find(c.Figure)
	switch {
	case err != nil:
		return fmt.Errorf("--figure: %w; schedlab papers --list lists all figures", err)
	case c.Iterations < 1 || c.Iterations > maxPapersIterations:
		return fmt.Errorf("--iterations=%d: must be in 1..%d", c.Iterations, maxPapersIterations)
	case c.List:
		return listFigures(terminal.NewWriter(ctx, std.Out), entries)
	}
	if c.Out != "" {
		if err := os.MkdirAll(c.Out, 0o777); err != nil {
			return fmt.Errorf("--out: %w", err)
		}
	}
	o := papers.Options{Seed: c.Seed}
	if c.Real {
		programs, err := program.Build(ctx, std.Err, program.Schedgen)
		if err != nil {
			return err
		}
		defer programs.Remove()
		o.Ranks = c.runner(programs)
	}
	bar := terminal.NewProgress(std, len(entries), "figures")
	defer bar.Clear()
	for i := range entries {
		f, err := terminal.Await(ctx, func() (*papers.Figure, error) { return entries[i].Make(ctx, o) })
		if err != nil {
			return err
		}
		bar.Clear()
		if err := c.put(terminal.NewWriter(ctx, std.Out), f, i > 0); err != nil {
			return err
		}
		bar.Advance()
	}
	return nil
}

// put prints a figure, or writes its files and prints their names.
func (c *Verb) put(w io.Writer, f *papers.Figure, behind bool) error {
	if c.Out == "" {
		if behind {
			if _, err := fmt.Fprintln(w); err != nil {
				return err
			}
		}
		return f.WriteTable(w)
	}
	name := filepath.Join(c.Out, strings.ReplaceAll(f.ID, "/", "-"))
	err := errors.Join(terminal.WriteFile("out", name+".svg", func(w io.Writer) error { return drawFigure(w, f) }), terminal.WriteFile("out", name+".csv", f.WriteCSV))
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

// runner returns a function that times operations by schedgen bench, over mcast if that works here,
// else over tcp.
func (c *Verb) runner(programs program.Programs) papers.Runner {
	return func(ctx context.Context, j papers.Job) (float64, error) {
		args := []string{programs.Path(program.Schedgen), "bench", j.Operation, "--json", "-p", strconv.Itoa(j.Params.Ranks),
			"--algorithm", j.Algorithm, "--iterations", strconv.Itoa(c.Iterations), "--seed", strconv.FormatUint(c.Seed, 10),
			"--timeout", papersTimeout.String(), "--silence", papersTimeout.String()}
		if j.Bytes > 0 {
			args = append(args, "--size", strconv.Itoa(j.Bytes)+"B")
		}
		if j.Params.Degree > 0 {
			args = append(args, "--degree", strconv.Itoa(j.Params.Degree))
		}
		t, err := bench.Run(ctx, args, nil, papersTimeout, bench.Parse)
		if err != nil {
			return 0, terminal.Failed(fmt.Errorf("%s among %d ranks: %w", j.Algorithm, j.Params.Ranks, err))
		}
		return t.Mean, nil
	}
}

// Words returns the figures for completion.
func Words(complete.Place) []complete.Word {
	var words []complete.Word
	for _, e := range papers.List() {
		words = append(words, complete.Word{Text: e.ID, Help: e.Title})
	}
	return words
}
