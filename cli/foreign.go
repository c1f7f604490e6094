package cli

import (
	"bufio"
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"strings"

	"github.com/schedgen/schedgen/internal/command"
	"github.com/schedgen/schedgen/internal/forms"
	"github.com/schedgen/schedgen/ir"
	"github.com/schedgen/schedgen/ir/chakra"
	"github.com/schedgen/schedgen/ir/dag"
	"github.com/schedgen/schedgen/ir/goal"
	"github.com/schedgen/schedgen/ir/msccl"
	"github.com/schedgen/schedgen/verify"
)

// foreignForm is a form of schedules that other programs write. The verbs verify and sim read it,
// and emit rewrites it as GOAL or as traces of Chakra.
type foreignForm struct {
	name      string
	form      forms.Form
	extension string
	chunks    bool // the form tells which chunks a message carries
	read      func(io.Reader) (*dag.Graph, error)
}

// foreignForms returns the forms as which a file may be read.
func foreignForms(name string) []foreignForm {
	return []foreignForm{
		{"GOAL", forms.GOAL, ".goal", false, goal.Parse},
		{"MSCCL XML", forms.MSCCL, ".xml", true, msccl.Parse},
		// the traces of the other ranks are read as well
		{"a Chakra trace", forms.Chakra, ".et", false, func(io.Reader) (*dag.Graph, error) { return readTraces(name) }},
	}
}

// sniff returns the foreign form of a file, by its first bytes or else by its name. It returns nil
// for a form of schedgen's own and for an unknown form, and an error for a file that is known to
// hold no schedule.
func sniff(name string, r *bufio.Reader) (*foreignForm, error) {
	const enough = 4 << 10
	head, _ := r.Peek(enough) // reading the file finds the error again
	file := forms.Look(head)
	if at := bytes.Index(head, []byte("\n<algo ")); at >= 0 && file.Form == forms.Unknown {
		return nil, placed(name, fmt.Errorf("the file begins with other lines, such as those of a log: MSCCL XML begins with <algo, here in line %d",
			2+bytes.Count(head[:at], []byte("\n"))))
	}
	for _, f := range foreignForms(name) {
		if file.Form == f.form || file.Form == forms.Unknown && filepath.Ext(name) == f.extension {
			return &f, nil
		}
	}
	switch file.Form {
	case forms.Text, forms.JSON, forms.Unknown:
		return nil, nil
	case forms.MSCCLPP:
		of := ""
		if file.Collective != "" {
			of = " for " + file.Collective
		}
		return nil, placed(name, fmt.Errorf("this is %s%s, which schedgen cannot read; it reads GOAL, MSCCL XML and Chakra traces of other programs",
			file.Form, of))
	case forms.Rules, forms.OpenMPITuned:
		return nil, placed(name, fmt.Errorf("this is %s, not a schedule; schedgen rules and schedgen explain --rules read it", file.Form))
	}
	return nil, placed(name, fmt.Errorf("this is %s, not a schedule", file.Form))
}

// verifyForeign proves a file of another program.
func (c *verifyCmd) verifyForeign(ctx context.Context, std command.Stdio, l looked) error {
	if err := c.checkForeign(l.form); err != nil {
		return err
	}
	report, err := command.Await(ctx, func() (*verify.Report, error) {
		g, err := l.form.read(l.in)
		if err != nil {
			return nil, placed(c.Source, err)
		}
		claim, err := c.claim(l.form, g)
		if err != nil {
			return nil, err
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

// checkForeign returns an error for flags that do not apply to any file of that form.
func (c *verifyCmd) checkForeign(form *foreignForm) error {
	switch {
	case c.As == "" && !form.chunks:
		return c.needsAs(form)
	case c.Ranks != nil:
		return fmt.Errorf("--ranks: %s has its own", c.Source)
	case c.AllRoots:
		return errors.New("--all-roots: does not apply to a file of another program")
	case len(c.Check) > 0:
		return errors.New("--check: does not apply to a file of another program, because its checks build on each other")
	}
	if c.As != "" {
		if err := oneOf("as", c.As, verify.Claims()); err != nil {
			return err
		}
		return c.checkClaim(form, &ir.Header{Collective: c.As})
	}
	return nil
}

// checkClaim returns an error for flags that do not apply to a file which is to be the collective
// of h.
func (c *verifyCmd) checkClaim(form *foreignForm, h *ir.Header) error {
	for _, flag := range c.list() {
		if flag.name != h.RootWord() {
			return fmt.Errorf("--%s: does not apply to a file of another program as %s", flag.name, h.Collective)
		}
	}
	switch {
	case c.Size == nil:
	case !h.HasMessage():
		return fmt.Errorf("--size: a %s has no message", h.Collective)
	case form.chunks:
		return fmt.Errorf("--size: %s is %s, which tells what its messages carry", c.Source, form.name)
	case *c.Size < 1:
		return fmt.Errorf("--size=%d: must be at least 1", *c.Size)
	}
	return nil
}

// needsAs returns the error for a file that does not name its collective.
func (c *verifyCmd) needsAs(form *foreignForm) error {
	return fmt.Errorf("--as: needed for %s, which is %s and does not name its collective; must be one of %s",
		c.Source, form.name, strings.Join(verify.Claims(), ", "))
}

// claim returns the collective, root and size that the file, read as g, is to be proved as.
func (c *verifyCmd) claim(form *foreignForm, g *dag.Graph) (verify.Claim, error) {
	claim := verify.Claim{Collective: cmp.Or(c.As, g.As)}
	h := ir.Header{Collective: claim.Collective, Ranks: len(g.Ranks)}
	if claim.Collective == "" {
		return claim, c.needsAs(form)
	}
	if err := c.checkClaim(form, &h); err != nil {
		return claim, err
	}
	for _, flag := range c.list() {
		if flag.value >= len(g.Ranks) {
			return claim, fmt.Errorf("--%s=%d: %s has ranks 0 … %d", flag.name, flag.value, c.Source, len(g.Ranks)-1)
		}
		claim.Root = flag.value
	}
	if c.Size != nil {
		claim.Size = int(*c.Size)
	}
	if h.Blocks() > 1 && !form.chunks && claim.Size == 0 && g.Message == 0 {
		return claim, fmt.Errorf("--size: needed for %s as %s: the file does not tell the length of a block", c.Source, claim.Collective)
	}
	return claim, nil
}

// placeOf names a file in an error.
func placeOf(name string) string {
	if name == "-" {
		return "standard input"
	}
	return name
}

// placed puts the name of the file before an error of its reader.
func placed(name string, err error) error {
	name = placeOf(name)
	var trace *chakra.Error
	if errors.As(err, &trace) {
		return fmt.Errorf("%s: %s", traceName(tracePrefix(name), trace.Rank), trace.Msg)
	}
	var at *ir.ParseError
	if errors.As(err, &at) {
		return fmt.Errorf("%s:%d:%d: %s", name, at.Line, at.Col, reason(at))
	}
	return fmt.Errorf("%s: %w", name, err)
}
