package main

import (
	"context"
	"fmt"
	"io"
	"strings"

	"github.com/schedgen/schedgen/emit"
	"github.com/schedgen/schedgen/ir"
)

// emitCmd is the verb emit.
type emitCmd struct {
	sourceArgs
	Format string `short:"f" default:"text" placeholder:"FORMAT" help:"One of ${formats}; default text."`
	Output string `short:"o" placeholder:"FILE" help:"Write to FILE, which appears whole or not at all."`
}

// Help is the long help text.
func (emitCmd) Help() string {
	var b strings.Builder
	b.WriteString("Formats:\n\n")
	for _, f := range emit.Formats() {
		fmt.Fprintf(&b, "  %-6s %s\n", f.Name, f.Summary)
	}
	b.WriteString("\nExample: schedgen emit bcast/mcast-acktree -p 8 -f dot | dot -Tsvg -o tree.svg")
	return b.String()
}

// Run prints the schedule to the standard output or a file.
func (c *emitCmd) Run(ctx context.Context, std stdio) error {
	if err := oneOf("format", c.Format, formatNames()); err != nil {
		return err
	}
	s, err := c.load(ctx, std)
	if err != nil {
		return err
	}
	if c.Output == "" || c.Output == "-" {
		return c.print(ctx, std.Out, s)
	}
	return writeFile(c.Output, func(w io.Writer) error { return c.print(ctx, w, s) })
}

func (c *emitCmd) print(ctx context.Context, w io.Writer, s *ir.Schedule) error {
	return emit.Write(ctxWriter{ctx, w}, c.Format, s, emit.Options{})
}

func formatNames() []string {
	var names []string
	for _, f := range emit.Formats() {
		names = append(names, f.Name)
	}
	return names
}
