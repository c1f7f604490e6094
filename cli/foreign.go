package cli

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/schedgen/schedgen/internal/foreign/dag"
	"github.com/schedgen/schedgen/internal/source"
	"github.com/schedgen/schedgen/internal/terminal"
	"github.com/schedgen/schedgen/ir"
	"github.com/schedgen/schedgen/verify"
)

// verifyForeign proves a file of another program.
func (c *verifyCmd) verifyForeign(ctx context.Context, std terminal.Stdio, l source.Looked) error {
	if err := c.checkForeign(l.Form); err != nil {
		return err
	}
	report, err := terminal.Await(ctx, func() (*verify.Report, error) {
		g, err := l.Form.Read(l.In)
		if err != nil {
			return nil, source.Placed(c.Source, err)
		}
		claim, err := c.claim(l.Form, g)
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
func (c *verifyCmd) checkForeign(form *source.Foreign) error {
	switch {
	case c.As == "" && !form.Chunks:
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
func (c *verifyCmd) checkClaim(form *source.Foreign, h *ir.Header) error {
	for _, flag := range c.List() {
		if flag.Name != h.RootWord() {
			return fmt.Errorf("--%s: does not apply to a file of another program as %s", flag.Name, h.Collective)
		}
	}
	switch {
	case c.Size == nil:
	case !h.HasMessage():
		return fmt.Errorf("--size: a %s has no message", h.Collective)
	case form.Chunks:
		return fmt.Errorf("--size: %s is %s, which tells what its messages carry", c.Source, form.Name)
	case *c.Size < 1:
		return fmt.Errorf("--size=%d: must be at least 1", *c.Size)
	}
	return nil
}

// needsAs returns the error for a file that does not name its collective.
func (c *verifyCmd) needsAs(form *source.Foreign) error {
	return fmt.Errorf("--as: needed for %s, which is %s and does not name its collective; must be one of %s",
		c.Source, form.Name, strings.Join(verify.Claims(), ", "))
}

// claim returns the collective, root and size that the file, read as g, is to be proved as.
func (c *verifyCmd) claim(form *source.Foreign, g *dag.Graph) (verify.Claim, error) {
	claim := verify.Claim{Collective: cmp.Or(c.As, g.As)}
	h := ir.Header{Collective: claim.Collective, Ranks: len(g.Ranks)}
	if claim.Collective == "" {
		return claim, c.needsAs(form)
	}
	if err := c.checkClaim(form, &h); err != nil {
		return claim, err
	}
	for _, flag := range c.List() {
		if flag.Value >= len(g.Ranks) {
			return claim, fmt.Errorf("--%s=%d: %s has ranks 0 … %d", flag.Name, flag.Value, c.Source, len(g.Ranks)-1)
		}
		claim.Root = flag.Value
	}
	if c.Size != nil {
		claim.Size = int(*c.Size)
	}
	if h.Blocks() > 1 && !form.Chunks && claim.Size == 0 && g.Message == 0 {
		return claim, fmt.Errorf("--size: needed for %s as %s: the file does not tell the length of a block", c.Source, claim.Collective)
	}
	return claim, nil
}
