package cli

import (
	"context"
	"fmt"
	"io"

	"github.com/schedgen/schedgen/emit"
	"github.com/schedgen/schedgen/internal/command"
	"github.com/schedgen/schedgen/ir/chakra"
	"github.com/schedgen/schedgen/ir/dag"
	"github.com/schedgen/schedgen/ir/goal"
)

// rewrite prints a file of another program as GOAL or as traces of Chakra. No other format can hold
// its operations, which are not rules.
func (c *emitCmd) rewrite(ctx context.Context, std command.Stdio, l looked) error {
	switch {
	case !showsRun(c.Format):
		return fmt.Errorf("%s is %s, which can be written in formats goal and chakra only", c.Source, l.form.name)
	case c.Fold != nil:
		return fmt.Errorf("--fold: %s is %s, which does not say what it folds", c.Source, l.form.name)
	case c.Lost != nil:
		return fmt.Errorf("--lost: %s is %s, which has no multicasts", c.Source, l.form.name)
	case c.Size != nil && !l.form.chunks:
		return fmt.Errorf("--size: %s is %s, which gives the length of its messages", c.Source, l.form.name)
	}
	if err := c.checkOwn(l.form); err != nil {
		return err
	}
	unit := 1
	if l.form.chunks {
		unit = c.model(emit.Options{}).Size
	}
	if unit < 1 {
		return fmt.Errorf("--size=%d: must be at least 1, because LogGOPSim crashes on messages of no bytes", unit)
	}
	g, err := command.Await(ctx, func() (*dag.Graph, error) { return l.form.read(l.in) })
	if err != nil {
		return placed(c.Source, err)
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
		w = command.NewWriter(ctx, w)
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
