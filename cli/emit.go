package cli

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/schedgen/schedgen/emit"
	"github.com/schedgen/schedgen/internal/source"
	"github.com/schedgen/schedgen/internal/terminal"
	"github.com/schedgen/schedgen/ir"
	"github.com/schedgen/schedgen/verify"
)

// emitCmd is the verb emit.
type emitCmd struct {
	source.Args
	emitModel
	Format     string `short:"f" placeholder:"FORMAT" complete:"format" help:"One of ${formats}; default by the extension of --output, else text."`
	Output     string `short:"o" placeholder:"FILE" complete:"file" help:"Write to FILE, which appears whole or not at all; default standard output. With chakra, write to FILE.0.et, FILE.1.et and so on."`
	Package    string `placeholder:"NAME" help:"With go, name of the package; with c, name of the function; default the algorithm's name and the number of ranks."`
	Unverified bool   `help:"With go and c: write the schedule even if it does not verify."`
}

// Help is the long help text.
func (emitCmd) Help() string {
	var formats [][2]string
	for _, f := range emit.Formats() {
		formats = append(formats, [2]string{f.Name, f.Summary})
	}
	return "Formats:\n\n" + terminal.Table(formats) + `
Examples:

  schedgen emit bcast/mcast-chain -p 8 --chunks 4
  schedgen emit bcast/mcast-acktree -p 8 -f dot | dot -Tsvg -o tree.svg
  schedgen emit tree.xml -f goal --size 64KiB -o tree.goal
  schedgen emit allreduce/ring -p 8 -f chakra --size 1MiB -o ring
  schedgen emit allreduce/doubling -p 8 -o allreduce.c

To generate a package for a Go program:

  //go:generate schedgen emit bcast/chain -p 8 -f go --package b8 -o b8/b8.go`
}

// Run prints the schedule to the standard output or a file.
func (c *emitCmd) Run(ctx context.Context, std terminal.Stdio) error {
	if err := c.chooseFormat(); err != nil {
		return err
	}
	if err := c.checkPackage(); err != nil {
		return err
	}
	if err := c.checkModel(c.Format); err != nil {
		return err
	}
	if err := c.checkLength(std); err != nil {
		return err
	}
	if c.IsFile() {
		l, err := c.OpenSniffed(ctx, std)
		if err != nil {
			return err
		}
		defer l.File.Close() // read only: nothing to lose
		if l.Form != nil {
			return c.rewrite(ctx, std, l)
		}
		s, err := c.Read(ctx, l.In)
		if err != nil {
			return err
		}
		return c.write(ctx, std, s)
	}
	s, err := c.Load(ctx, std)
	if err != nil {
		return err
	}
	return c.write(ctx, std, s)
}

// chooseFormat sets the format from the flag, or else from the name of the output. It returns an
// error if the flag and the name tell different formats.
func (c *emitCmd) chooseFormat() error {
	named := ""
	for _, f := range emit.Formats() {
		if filepath.Ext(c.Output) == "."+f.Extension {
			named = f.Name
		}
	}
	if c.Format == "" {
		c.Format = cmp.Or(named, "text")
	}
	if err := oneOf("format", c.Format, formatNames()); err != nil {
		return err
	}
	if named != "" && named != "text" && named != c.Format { // a file of any format may end with .txt
		return fmt.Errorf("--output=%s: that is the name of a file of format %s, but --format is %s", c.Output, named, c.Format)
	}
	return c.checkTraces()
}

// checkTraces returns an error if the format has a file for each rank and --output gives no prefix
// for their names.
func (c *emitCmd) checkTraces() error {
	if c.Format != "chakra" {
		return nil
	}
	prefix, _, isTrace := source.CutTrace(c.Output)
	switch {
	case c.Output == "" || c.Output == "-":
		return errors.New("--output: needed for format chakra, which has a file for each rank: -o tree writes tree.0.et, tree.1.et and so on")
	case isTrace:
		return fmt.Errorf("--output=%s: format chakra has a file for each rank: -o %s names all", c.Output, prefix)
	}
	return nil
}

// write prints a schedule to the standard output or a file.
func (c *emitCmd) write(ctx context.Context, std terminal.Stdio, s *ir.Schedule) error {
	if c.Size != nil && !s.HasMessage() {
		std.Idle("size", source.NoMessage(s.Collective))
		c.Size = nil
	}
	o, err := c.explained(ctx, s, c.model(emit.Options{Command: c.command(), Package: c.Package}))
	if err == nil && c.isCode() {
		std.Does("proving " + c.Source)
		err = c.verifies(ctx, s, &o)
	}
	if err != nil {
		return err
	}
	std.Does("writing " + c.Source)
	if c.Format == "chakra" {
		return c.writeTraces(ctx, s.Ranks, func(create createTrace) error { return emit.WriteRanks(create, c.Format, s, o) })
	}
	to := func(w io.Writer) error { return emit.Write(terminal.NewWriter(ctx, w), c.Format, s, o) }
	return c.writeOut(std, to)
}

// createTrace makes the file of a rank hold what write writes.
type createTrace = func(rank int, write func(io.Writer) error) error

// writeTraces writes what fill makes to a file for each rank. A trace of a rank beyond the last
// would become part of the set, so it is an error.
func (c *emitCmd) writeTraces(ctx context.Context, ranks int, fill func(createTrace) error) error {
	prefix := source.TracePrefix(c.Output)
	next := source.TraceName(prefix, ranks)
	if _, err := os.Stat(next); err == nil {
		return fmt.Errorf("--output=%s: %s exists, which would be a rank beyond the %d of this set: remove it first", c.Output, next, ranks)
	}
	return fill(func(rank int, write func(io.Writer) error) error {
		return terminal.WriteFile("output", source.TraceName(prefix, rank), func(w io.Writer) error { return write(terminal.NewWriter(ctx, w)) })
	})
}

// writeOut writes what fill makes to the standard output or to the file of --output. The error of a
// schedule that does not fit the format does not name --output.
func (c *emitCmd) writeOut(std terminal.Stdio, fill func(io.Writer) error) error {
	if c.Output == "" {
		return fill(std.Out)
	}
	var refused error
	err := terminal.WriteTo("output", c.Output, std.Out, func(w io.Writer) error {
		err := fill(w)
		if unfit := (*emit.Unfit)(nil); errors.As(err, &unfit) {
			refused = err
		}
		return err
	})
	if refused != nil {
		return refused
	}
	return err
}

// verifies proves s and records in o whether all checks hold, and the terms of its folds. A
// schedule that does not hold is an error without --unverified: a program that uses generated code
// cannot prove it.
func (c *emitCmd) verifies(ctx context.Context, s *ir.Schedule, o *emit.Options) error {
	report, err := terminal.Await(ctx, func() (*verify.Report, error) { return verify.Run(s) })
	if err != nil {
		return err
	}
	if err := report.Err(); err != nil && !c.Unverified {
		return terminal.Negative(fmt.Sprintf("not verified: %v\n  --unverified writes it nevertheless", err))
	}
	o.Proved = report.Err() == nil
	o.RankOrder, o.Position, o.InPlace = report.Terms.RankOrder, report.Terms.Position, report.Terms.InPlace
	return nil
}

// isCode reports whether the format is source code.
func (c *emitCmd) isCode() bool { return c.Format == "go" || c.Format == "c" }

// checkLength returns an error if the schedule is too long for the format, before the schedule is
// built. It counts actions. Each action is at least one transfer.
func (c *emitCmd) checkLength(std terminal.Stdio) error {
	formats := emit.Formats()
	format := formats[slices.IndexFunc(formats, func(f emit.Format) bool { return f.Name == c.Format })]
	if format.Most == 0 || c.IsFile() {
		return nil
	}
	spec, err := c.Spec(std)
	if err != nil {
		return err
	}
	_, actions := spec.Size()
	if err := format.Takes(actions); err != nil {
		return fmt.Errorf("emit %s as %s: %w", c.Source, c.Format, err)
	}
	return nil
}

func (c *emitCmd) checkPackage() error {
	check := emit.CheckPackage
	switch {
	case c.Unverified && !c.isCode():
		return fmt.Errorf("--unverified: needs --format go or c")
	case c.Package == "":
		return nil
	case !c.isCode():
		return fmt.Errorf("--package: needs --format go or c")
	case c.Format == "c":
		check = emit.CheckFunction
	}
	if err := check(c.Package); err != nil {
		return fmt.Errorf("--package=%s: %w", c.Package, err)
	}
	return nil
}

// command returns the command line that emits the same. It depends neither on the order of the
// flags nor on the directories of the files.
func (c *emitCmd) command() string {
	words := []string{"schedgen emit", c.Source}
	if c.IsFile() {
		words[1] = filepath.Base(c.Source)
	}
	if c.Ranks != nil {
		words = append(words, fmt.Sprintf("-p %d", c.Ranks.Lo))
	}
	for _, flag := range c.List() {
		words = append(words, fmt.Sprintf("--%s %d", flag.Name, flag.Value))
	}
	words = append(words, "--format "+c.Format)
	if c.Package != "" {
		words = append(words, "--package "+c.Package)
	}
	if c.Unverified {
		words = append(words, "--unverified")
	}
	words = append(words, c.modelWords()...)
	return strings.Join(words, " ")
}

func formatNames() []string {
	var names []string
	for _, f := range emit.Formats() {
		names = append(names, f.Name)
	}
	return names
}
