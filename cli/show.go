package cli

import (
	"context"
	"fmt"
	"slices"

	"github.com/schedgen/schedgen/emit"
	"github.com/schedgen/schedgen/internal/source"
	"github.com/schedgen/schedgen/internal/terminal"
	"github.com/schedgen/schedgen/ir"
)

// showCmd is the verb show.
type showCmd struct {
	source.Args
	Rank    *int         `xor:"what" placeholder:"R" help:"Print the program of rank R in sentences; draw nothing."`
	Lost    bool         `xor:"what" help:"Draw the run in which every multicast is lost and repaired."`
	Extract emit.Extract `default:"auto" placeholder:"WHICH" help:"Ranks to draw: ${extracts}; default auto."`
	Width   *int         `placeholder:"N" help:"Columns to draw in; default the width of the terminal, else 80."`
	ASCII   bool         `name:"ascii" help:"Use ASCII characters only."`
}

// Help is the long help text.
func (showCmd) Help() string {
	return `Draws ranks side by side and rounds one below the other. A rule fires as soon as it has
everything that it waits for. Each transfer takes one round.

  ●── c0 ─▶│        the left rank puts c0 to the right rank
  ●───▶├───▶│       the left rank sends to both others
  ●───●───▶│        both others send to the right rank
  ═▶ multicast      ╌▶ repair      ┄▶ request      ┈▶ answer to a request

The last line gives the round after which each call returns. A call returns when its rank has
everything that it waits for and has sent everything that it must send.

If there are too many ranks, or too many transfers in a round, it draws an extract and tells
what is left out. --extract chooses one: path draws the ranks that the last return depends on;
roles draws one rank of each kind; rank=R draws rank R and the ranks that it exchanges messages
with; sums draws no ranks but prints the totals of each round; all draws all ranks, if they fit.

Colour is used only on a terminal, and not if NO_COLOR is set.

Examples:

  schedgen show barrier/dissemination -p 8 --degree 2
  schedgen show bcast/mcast-acktree -p 8 --rank 3`
}

// Run draws the schedule or prints the program of one rank.
func (c *showCmd) Run(ctx context.Context, std terminal.Stdio) error {
	s, err := c.Load(ctx, std)
	if err != nil {
		return err
	}
	std.Does("drawing " + c.Source)
	out := terminal.NewWriter(ctx, std.Out)
	if c.Rank == nil {
		o, err := c.options(s, std)
		if err != nil {
			return err
		}
		return emit.Rounds(out, s, o)
	}
	if c.Extract != (emit.Extract{}) {
		std.Idle("extract", "nothing is drawn with --rank")
	}
	if c.Width != nil {
		std.Idle("width", "nothing is drawn with --rank")
	}
	if *c.Rank < 0 || *c.Rank >= s.Ranks {
		return fmt.Errorf("--rank=%d: must be in 0..%d", *c.Rank, s.Ranks-1)
	}
	return emit.Explain(out, s, *c.Rank)
}

// options returns how the schedule is drawn.
func (c *showCmd) options(s *ir.Schedule, std terminal.Stdio) (emit.RoundsOptions, error) {
	o := emit.RoundsOptions{Width: min(std.Width(), emit.MaxWidth), Color: std.Color(), ASCII: c.ASCII, Lost: c.Lost, Extract: c.Extract}
	if c.Width != nil {
		if o.Width = *c.Width; o.Width < 1 || o.Width > emit.MaxWidth {
			return o, fmt.Errorf("--width=%d: must be in 1..%d", o.Width, emit.MaxWidth)
		}
	}
	if o.Lost && !multicastsIn(s) {
		std.Idle("lost", "nothing is multicast")
		o.Lost = false
	}
	return o, nil
}

// multicastsIn reports whether any rank multicasts.
func multicastsIn(s *ir.Schedule) bool {
	return slices.ContainsFunc(s.Programs, func(p ir.Program) bool { return p.Multicasts() })
}
