package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/schedgen/schedgen/internal/source"
	"github.com/schedgen/schedgen/internal/terminal"
	"github.com/schedgen/schedgen/schedule"
	"github.com/schedgen/schedgen/verify"
)

// verifyCmd is the verb verify.
type verifyCmd struct {
	source.Args
	As       string    `placeholder:"WHAT" complete:"claim" help:"Collective that a file of another program is to be: ${claims}; default what MSCCL XML says."`
	Size     *byteSize `placeholder:"SIZE" help:"Length of a block of a GOAL file or of Chakra traces, such as the message of a broadcast; default the length in a comment or an attribute of the file, else, for a broadcast, the most that any rank can receive."`
	AllRoots bool      `help:"Prove every root or origin."`
	Check    []string  `placeholder:"NAME" complete:"check" help:"Run only these checks: ${checks}."`
	JSON     bool      `name:"json" help:"Print one object a line, for each schedule."`
}

// Help is the long help text.
func (verifyCmd) Help() string {
	var checks [][2]string
	for _, c := range verify.Checks() {
		checks = append(checks, [2]string{c.Name, c.Summary})
	}
	return `Runs checks that prove a schedule correct. With a range, such as -p 1..64, it proves the schedule for
every number of ranks. For a check that fails it prints a counterexample, and the exit code is 1.

Checks:

` + terminal.Table(checks) + `
For a schedule that folds, "tree" is a digest of the trees by which it folds contributions. Two
schedules with the same digest compute the same bits.

A file of another program, GOAL text, MSCCL XML or Chakra traces, is proved to be the collective of
--as. MSCCL XML names its collective itself, unless that is "custom". Chakra has a trace for each
rank: name one of them, such as tree.0.et, or their prefix tree.

Examples:

  schedgen verify barrier/dissemination -p 1..64 --degree 2
  schedgen verify barrier.goal --as barrier`
}

func checkNames() []string {
	var names []string
	for _, c := range verify.Checks() {
		names = append(names, c.Name)
	}
	return names
}

// Run proves the schedules that the arguments name and prints the results.
func (c *verifyCmd) Run(ctx context.Context, std terminal.Stdio) error {
	for _, name := range c.Check {
		if err := oneOf("check", name, checkNames()); err != nil {
			return err
		}
	}
	var l source.Looked
	if c.IsFile() {
		var err error
		if l, err = c.OpenSniffed(ctx, std); err != nil {
			return err
		}
		defer l.File.Close() // read only: nothing to lose
		if l.Form != nil {
			return c.verifyForeign(ctx, std, l)
		}
	}
	switch {
	case c.As != "":
		return fmt.Errorf("--as: %s is a schedule of schedgen, which names its collective itself; the flag is for GOAL, MSCCL XML and Chakra traces", c.Source)
	case c.Size != nil:
		return fmt.Errorf("--size: %s is neither GOAL nor a Chakra trace", c.Source)
	}
	c.dropIdle(std)
	jobs, err := c.jobs(ctx, l.In)
	if err != nil {
		return err
	}
	out := c.printer(std, jobs.len())
	bar, begin := c.progress(ctx, std, jobs.len())
	proved, failed, refused, applied := 0, 0, 0, false
	var last *schedule.Refusal
	for prove := range jobs.all(begin, c.Check) {
		report, err := terminal.Await(ctx, prove)
		bar.Clear()
		if refusal, ok := errors.AsType[*schedule.Refusal](err); ok && jobs.len() > 1 {
			refused++
			last = refusal
			bar.Advance()
			continue
		}
		if err != nil {
			return err
		}
		proved++
		if report.Err() != nil {
			failed++
		}
		applied = applied || slices.ContainsFunc(report.Results, func(res verify.Result) bool { return res.Applies })
		if err := out.report(report); err != nil {
			return err
		}
		bar.Advance()
	}
	bar.Clear()
	switch {
	case proved == 0 && refused > 0:
		return fmt.Errorf("%s: %w", c.Source, last)
	case refused > 0:
		fmt.Fprintf(std.Err, "schedgen: %s does not exist for %d of %d: %v\n", c.Source, refused, jobs.len(), last)
	}
	if !applied {
		return fmt.Errorf("--check=%s: does not apply to %s: nothing is proved", strings.Join(c.Check, ","), c.Source)
	}
	return c.finish(out, failed, proved)
}

// progress returns a bar and a function to call before each check. The steps of the bar are the
// schedules, or the checks of a single schedule.
func (c *verifyCmd) progress(ctx context.Context, std terminal.Stdio, schedules int) (bar terminal.Progress, begin func(check string)) {
	if schedules > 1 {
		return terminal.NewProgress(std, schedules, "proving"), func(string) {}
	}
	steps := 3 + len(verify.Checks()) // building, what ranks have in common, the checks, and one more so that the bar is full only at the end
	bar = terminal.NewProgress(std, steps, "building")
	return bar, func(check string) {
		if ctx.Err() == nil { // after an interrupt the abandoned check may still run
			bar.Begin("proving " + check)
		}
	}
}

func (c *verifyCmd) finish(out reportPrinter, failed, total int) error {
	if err := out.close(failed, total); err != nil {
		return err
	}
	switch {
	case failed == 0:
		return nil
	case total == 1:
		return terminal.Negative("not verified")
	}
	return terminal.Negative(fmt.Sprintf("%d of %d schedules not verified", failed, total))
}

// jobs returns the schedules to be proved.
func (c *verifyCmd) jobs(ctx context.Context, file io.Reader) (*jobs, error) {
	if c.IsFile() {
		s, err := c.Read(ctx, file)
		if err == nil && c.AllRoots {
			err = fmt.Errorf("--all-roots: %s", source.OwnRoot(c.Source, &s.Header))
		}
		return &jobs{file: s}, err
	}
	p, err := c.Params(c.Source)
	if err != nil {
		return nil, err
	}
	if c.Ranks == nil {
		return nil, fmt.Errorf("--ranks: needed for %s, such as -p 8 or -p 1..64", c.Source)
	}
	j := &jobs{name: c.Source, params: p, ranks: *c.Ranks}
	if j.allRoots, err = c.everyRoot(); err != nil {
		return nil, err
	}
	return j, j.check()
}

// dropIdle removes the flags that have no effect on the algorithm.
func (c *verifyCmd) dropIdle(std terminal.Stdio) {
	c.Args.DropIdle(std)
	if alg, err := source.Named(c.Source); err == nil && c.AllRoots && !source.Takes(&alg, "root") {
		std.Idle("all-roots", source.NoRoot(alg.Collective))
		c.AllRoots = false
	}
}

// everyRoot reports whether all roots are proved: with --all-roots, and for a rootless algorithm
// unless a flag gives an origin.
func (c *verifyCmd) everyRoot() (bool, error) {
	alg, err := source.Named(c.Source)
	rooted := c.Root != nil || c.Origin != nil
	switch {
	case err != nil:
		return false, err
	case c.AllRoots && rooted:
		return false, errors.New("--all-roots: not with --root or --origin")
	}
	return c.AllRoots || rowOf(alg.Collective).Origin && !rooted, nil
}
