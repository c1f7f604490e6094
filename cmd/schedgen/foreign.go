package main

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"slices"

	"github.com/schedgen/schedgen/ir"
	"github.com/schedgen/schedgen/ir/dag"
	"github.com/schedgen/schedgen/ir/goal"
	"github.com/schedgen/schedgen/ir/msccl"
	"github.com/schedgen/schedgen/verify"
)

// foreignForm is a form of schedules that others make. Verify and sim read it, and emit writes it as GOAL.
type foreignForm struct {
	name      string
	extension string
	starts    []string // how a file may start, beside white space
	chunks    bool     // it says what messages carry
	read      func(io.Reader) (*dag.Graph, error)
}

func foreignForms() []foreignForm {
	return []foreignForm{
		{"GOAL", ".goal", []string{"num_ranks", "//", "/*"}, false, goal.Parse},
		{"MSCCL XML", ".xml", []string{"<"}, true, msccl.Parse},
	}
}

// sniff returns the form of a file by its name or else by its first bytes, nil
// if it is none of others.
func sniff(name string, r *bufio.Reader) *foreignForm {
	const enough = 512
	head, _ := r.Peek(enough) // what is wrong is found when it is read
	head = bytes.TrimLeft(head, " \t\r\n\ufeff")
	for _, f := range foreignForms() {
		starts := func(s string) bool { return bytes.HasPrefix(head, []byte(s)) }
		if filepath.Ext(name) == f.extension || slices.ContainsFunc(f.starts, starts) {
			return &f
		}
	}
	return nil
}

// verifyForeign proves a file of another program.
func (c *verifyCmd) verifyForeign(ctx context.Context, std stdio, l looked) error {
	claim, err := c.claim(l.form)
	if err != nil {
		return err
	}
	report, err := await(ctx, func() (*verify.Report, error) {
		g, err := l.form.read(l.in)
		if err != nil {
			return nil, placed(c.Source, err)
		}
		if claim.Root >= len(g.Ranks) {
			return nil, fmt.Errorf("--root=%d: %s has ranks 0 … %d", claim.Root, c.Source, len(g.Ranks)-1)
		}
		return verify.RunForeign(g, claim)
	})
	if err != nil {
		return err
	}
	out := c.printer(std, 1)
	if err := out.report(report); err != nil {
		return err
	}
	failed := 0
	if report.Err() != nil {
		failed = 1
	}
	return c.finish(out, failed, 1)
}

// claim returns what the flags say the file is.
func (c *verifyCmd) claim(form *foreignForm) (verify.Claim, error) {
	claim := verify.Claim{Collective: c.As}
	switch {
	case c.As == "":
		return claim, fmt.Errorf("--as: needed for %s, which is %s and does not say what it is: barrier or bcast", c.Source, form.name)
	case c.Ranks != nil:
		return claim, fmt.Errorf("--ranks: %s has its own", c.Source)
	case c.AllRoots:
		return claim, errors.New("--all-roots: not with a file of another program")
	case len(c.Check) > 0:
		return claim, errors.New("--check: not with a file of another program, whose checks build on each other")
	}
	if err := oneOf("as", c.As, []string{"barrier", "bcast"}); err != nil {
		return claim, err
	}
	var err error
	if claim.Size, err = c.size(form); err != nil {
		return claim, err
	}
	for _, flag := range c.list() {
		if flag.name != "root" || c.As != "bcast" {
			return claim, fmt.Errorf("--%s: not with a file of another program as %s", flag.name, c.As)
		}
		claim.Root = flag.value
	}
	return claim, nil
}

// size returns how long the message is to be, 0 if the flag is not given.
func (c *verifyCmd) size(form *foreignForm) (int, error) {
	switch {
	case c.Size == nil:
		return 0, nil
	case c.As != "bcast":
		return 0, fmt.Errorf("--size: a %s has no message", c.As)
	case form.chunks:
		return 0, fmt.Errorf("--size: %s is %s, which says what its messages carry", c.Source, form.name)
	case *c.Size < 1:
		return 0, fmt.Errorf("--size=%d: must be at least 1", *c.Size)
	}
	return int(*c.Size), nil
}

// placed puts the name of the file before an error of its reader.
func placed(name string, err error) error {
	if name == "-" {
		name = "standard input"
	}
	var at *ir.ParseError
	if errors.As(err, &at) {
		return fmt.Errorf("%s:%d:%d: %s", name, at.Line, at.Col, reason(at))
	}
	return fmt.Errorf("%s: %w", name, err)
}
