package main

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"path/filepath"
	"slices"
	"strings"

	"github.com/schedgen/schedgen/emit"
	"github.com/schedgen/schedgen/ir"
	"github.com/schedgen/schedgen/verify"
)

// emitCmd is the verb emit.
type emitCmd struct {
	sourceArgs
	emitModel
	Format     string `short:"f" placeholder:"FORMAT" complete:"format" help:"One of ${formats}; default by the name of --output, else text."`
	Output     string `short:"o" placeholder:"FILE" complete:"file" help:"Write to FILE, which appears whole or not at all."`
	Package    string `placeholder:"NAME" help:"Name of the package, format go, or of the function, format c; default: the algorithm's name and the number of ranks."`
	Unverified bool   `help:"Write format go or c although the schedule does not verify."`
}

// Help is the long help text.
func (emitCmd) Help() string {
	var formats [][2]string
	for _, f := range emit.Formats() {
		formats = append(formats, [2]string{f.Name, f.Summary})
	}
	return "Formats:\n\n" + table(formats) + `
Examples:

  schedgen emit bcast/mcast-chain -p 8 --chunks 4
  schedgen emit bcast/mcast-acktree -p 8 -f dot | dot -Tsvg -o tree.svg
  schedgen emit tree.xml -f goal --size 64KiB -o tree.goal
  schedgen emit allreduce/doubling -p 8 -o allreduce.c

In a program, with the package that it writes:

  //go:generate schedgen emit bcast/chain -p 8 -f go --package b8 -o b8/b8.go`
}

// Run prints the schedule to the standard output or a file.
func (c *emitCmd) Run(ctx context.Context, std stdio) error {
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
	if c.isFile() {
		l, err := c.look(ctx, std)
		if err != nil {
			return err
		}
		defer l.file.Close() // read only: nothing to lose
		if l.form != nil {
			return c.rewrite(ctx, std, l)
		}
		s, err := c.read(ctx, l.in)
		if err != nil {
			return err
		}
		return c.write(ctx, std, s)
	}
	s, err := c.load(ctx, std)
	if err != nil {
		return err
	}
	return c.write(ctx, std, s)
}

// chooseFormat takes the format that the flag says, or else the name of the output. A name that
// is of another format than the flag is an error.
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
	if named != "" && named != "text" && named != c.Format { // any format may be called text
		return fmt.Errorf("--output=%s: that is the name of a file of format %s, and --format is %s", c.Output, named, c.Format)
	}
	return nil
}

// write prints a schedule of ours to the standard output or a file.
func (c *emitCmd) write(ctx context.Context, std stdio, s *ir.Schedule) error {
	if c.Size != nil && !s.HasMessage() {
		std.idle("size", noMessage(s.Collective))
		c.Size = nil
	}
	o, err := c.explained(ctx, s, c.model(emit.Options{Command: c.command(), Package: c.Package}))
	if err == nil && c.isCode() {
		err = c.verifies(ctx, s, &o)
	}
	if err != nil {
		return err
	}
	to := func(w io.Writer) error { return emit.Write(ctxWriter{ctx, w}, c.Format, s, o) }
	if c.Output == "" {
		return to(std.Out)
	}
	return writeTo("output", c.Output, std.Out, to)
}

// verifies notes in o whether s holds all checks, and what it folds. Code of what does not is written only if the user says
// so: a program that uses it cannot prove it any more.
func (c *emitCmd) verifies(ctx context.Context, s *ir.Schedule, o *emit.Options) error {
	report, err := await(ctx, func() (*verify.Report, error) { return verify.Run(s) })
	if err != nil {
		return err
	}
	if err := report.Err(); err != nil && !c.Unverified {
		return &noError{fmt.Sprintf("not verified: %v\n  --unverified writes it all the same", err)}
	}
	o.Proved = report.Err() == nil
	o.RankOrder, o.Position, o.InPlace = report.Terms.RankOrder, report.Terms.Position, report.Terms.InPlace
	return nil
}

// isCode reports whether the format is one that programs run.
func (c *emitCmd) isCode() bool { return c.Format == "go" || c.Format == "c" }

// checkLength refuses what the format does not take before it is built: each action
// is a transfer at least.
func (c *emitCmd) checkLength(std stdio) error {
	formats := emit.Formats()
	format := formats[slices.IndexFunc(formats, func(f emit.Format) bool { return f.Name == c.Format })]
	if format.Most == 0 || c.isFile() {
		return nil
	}
	spec, err := c.spec(std)
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
		return fmt.Errorf("--unverified: only with --format go or c")
	case c.Package == "":
		return nil
	case !c.isCode():
		return fmt.Errorf("--package: only format go is a package, and format c a function")
	case c.Format == "c":
		check = emit.CheckFunction
	}
	if err := check(c.Package); err != nil {
		return fmt.Errorf("--package=%s: %w", c.Package, err)
	}
	return nil
}

// command returns the command line that emits the same: the same text
// whatever the order of the flags and wherever the files are.
func (c *emitCmd) command() string {
	words := []string{"schedgen emit", c.Source}
	if c.isFile() {
		words[1] = filepath.Base(c.Source)
	}
	if c.Ranks != nil {
		words = append(words, fmt.Sprintf("-p %d", c.Ranks.lo))
	}
	for _, flag := range c.list() {
		words = append(words, fmt.Sprintf("--%s %d", flag.name, flag.value))
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
