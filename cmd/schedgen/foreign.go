package main

import (
	"bufio"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"path/filepath"

	"github.com/schedgen/schedgen/internal/forms"
	"github.com/schedgen/schedgen/ir"
	"github.com/schedgen/schedgen/ir/dag"
	"github.com/schedgen/schedgen/ir/goal"
	"github.com/schedgen/schedgen/ir/msccl"
	"github.com/schedgen/schedgen/verify"
)

// foreignForm is a form of schedules that others make. Verify and sim read it, and emit writes it as GOAL.
type foreignForm struct {
	name      string
	form      forms.Form
	extension string
	chunks    bool // it says what messages carry
	read      func(io.Reader) (*dag.Graph, error)
}

func foreignForms() []foreignForm {
	return []foreignForm{
		{"GOAL", forms.GOAL, ".goal", false, goal.Parse},
		{"MSCCL XML", forms.MSCCL, ".xml", true, msccl.Parse},
	}
}

// sniff returns the form of a file by its first bytes or else by its name, nil if it is
// one of ours or nothing tells. A file that is known to hold something else is an error.
func sniff(name string, r *bufio.Reader) (*foreignForm, error) {
	const enough = 4 << 10
	head, _ := r.Peek(enough) // what is wrong is found when it is read
	file := forms.Look(head)
	for _, f := range foreignForms() {
		if file.Form == f.form || file.Form == forms.Unknown && filepath.Ext(name) == f.extension {
			return &f, nil
		}
	}
	switch file.Form {
	case forms.Text, forms.JSON, forms.Unknown:
		return nil, nil
	case forms.MSCCLPP:
		return nil, placed(name, fmt.Errorf("this is %s%s, which is not read; of other programs' schedules GOAL and MSCCL XML are",
			file.Form, toDo(file.Collective)))
	case forms.Rules, forms.OpenMPITuned:
		return nil, placed(name, fmt.Errorf("this is %s, not a schedule; schedgen rules and schedgen explain --rules read it", file.Form))
	}
	return nil, placed(name, fmt.Errorf("this is %s, not a schedule", file.Form))
}

// toDo says what a plan is for.
func toDo(collective string) string {
	if collective == "" {
		return ""
	}
	return fmt.Sprintf(" for %s", collective)
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
		if claim.Collective = cmp.Or(claim.Collective, g.As); claim.Collective == "" {
			return nil, c.needsAs(l.form)
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

// needsAs is the error for a file that does not say what it does.
func (c *verifyCmd) needsAs(form *foreignForm) error {
	return fmt.Errorf("--as: needed for %s, which is %s and does not say what it is: barrier or bcast", c.Source, form.name)
}

// claim returns what the flags say the file is. Where --as is missing, MSCCL XML may say
// that it is a broadcast.
func (c *verifyCmd) claim(form *foreignForm) (verify.Claim, error) {
	claim := verify.Claim{Collective: c.As}
	as := c.As
	if as == "" && form.form == forms.MSCCL {
		as = "bcast"
	}
	switch {
	case as == "":
		return claim, c.needsAs(form)
	case c.Ranks != nil:
		return claim, fmt.Errorf("--ranks: %s has its own", c.Source)
	case c.AllRoots:
		return claim, errors.New("--all-roots: not with a file of another program")
	case len(c.Check) > 0:
		return claim, errors.New("--check: not with a file of another program, whose checks build on each other")
	}
	if err := oneOf("as", as, []string{"barrier", "bcast"}); err != nil {
		return claim, err
	}
	var err error
	if claim.Size, err = c.size(form, as); err != nil {
		return claim, err
	}
	for _, flag := range c.list() {
		if flag.name != "root" || as != "bcast" {
			return claim, fmt.Errorf("--%s: not with a file of another program as %s", flag.name, as)
		}
		claim.Root = flag.value
	}
	return claim, nil
}

// size returns how long the message is to be, 0 if the flag is not given.
func (c *verifyCmd) size(form *foreignForm, as string) (int, error) {
	switch {
	case c.Size == nil:
		return 0, nil
	case as != "bcast":
		return 0, fmt.Errorf("--size: a %s has no message", as)
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
