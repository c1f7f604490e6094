package cli

import (
	"context"
	"fmt"
	"io"

	"github.com/schedgen/schedgen/emit"
	"github.com/schedgen/schedgen/internal/foreign/chakra"
	"github.com/schedgen/schedgen/internal/foreign/dag"
	"github.com/schedgen/schedgen/internal/foreign/goal"
	"github.com/schedgen/schedgen/internal/source"
	"github.com/schedgen/schedgen/internal/terminal"
)

// rewrite prints a file of another program as GOAL or as traces of Chakra. No other format can hold
// its operations, which are not rules.
func (c *emitCmd) rewrite(ctx context.Context, std terminal.Stdio, l source.Looked) error {
	switch {
	case !showsRun(c.Format):
		return fmt.Errorf("%s is %s, which can be written in formats goal and chakra only", c.Source, l.Form.Name)
	case c.Fold != nil:
		return fmt.Errorf("--fold: %s is %s, which does not say what it folds", c.Source, l.Form.Name)
	case c.Lost != nil:
		return fmt.Errorf("--lost: %s is %s, which has no multicasts", c.Source, l.Form.Name)
	case c.Size != nil && !l.Form.Chunks:
		return fmt.Errorf("--size: %s is %s, which gives the length of its messages", c.Source, l.Form.Name)
	}
	if err := c.CheckOwn(l.Form); err != nil {
		return err
	}
	unit := 1
	if l.Form.Chunks {
		unit = c.model(emit.Options{}).Size
	}
	if unit < 1 {
		return fmt.Errorf("--size=%d: must be at least 1, because LogGOPSim crashes on messages of no bytes", unit)
	}
	g, err := terminal.Await(ctx, func() (*dag.Graph, error) { return l.Form.Read(l.In) })
	if err != nil {
		return source.Placed(c.Source, err)
	}
	if c.Format == "chakra" {
		return c.writeTraces(ctx, len(g.Ranks), func(create createTrace) error {
			if err := chakra.Write(create, g, unit, []chakra.Note{{Name: "command", Text: c.command()}}); err != nil {
				return fmt.Errorf("%s as traces of Chakra: %w", c.Source, err)
			}
			return nil
		})
	}
	write := func(w io.Writer) error {
		w = terminal.NewWriter(ctx, w)
		if _, err := fmt.Fprintf(w, "// made by: %s\n", c.command()); err != nil {
			return err
		}
		if err := goal.Write(w, g, unit); err != nil {
			return fmt.Errorf("%s as GOAL: %w", c.Source, err)
		}
		return nil
	}
	return c.writeOut(std, write)
}
