package main

import (
	"context"
	"fmt"
	"slices"

	"github.com/schedgen/schedgen/emit"
	"github.com/schedgen/schedgen/ir"
)

// showCmd is the verb show.
type showCmd struct {
	sourceArgs
	Rank    *int         `xor:"what" placeholder:"R" help:"Tell the program of rank R in sentences."`
	Lost    bool         `xor:"what" help:"Draw the run in which every multicast is lost and repaired."`
	Extract emit.Extract `default:"auto" placeholder:"WHICH" help:"Ranks to draw: ${extracts}; default auto."`
	Width   *int         `placeholder:"N" help:"Columns to draw in; default those of the terminal, else 80."`
	ASCII   bool         `name:"ascii" help:"Use no characters beyond ASCII."`
}

// Help is the long help text.
func (showCmd) Help() string {
	return `Ranks stand side by side, rounds one below the other; a rule fires as soon as what it
waits for is there, and every transfer takes one round.

  ●── c0 ─▶│        rank on the left puts c0 to rank on the right
  ●───▶├───▶│       it sends to both others
  ●───●───▶│        both others send to it
  ═▶ multicast      ╌▶ repair      ┄▶ request      ┈▶ answer to it

Below stands the round after which each call returns: its rank has what it waits for and has
sent what it is to send.

Of many ranks, or of rounds in which more moves than is readable, an extract is drawn, and
the drawing says what is left out: path, the ranks that the last return waits for; roles, one
of each kind of rank; rank=R, rank R and whom it has to do with. sums draws no ranks but adds
up what moves in each round; all draws all, if they fit.

Colour is used only on a terminal, and not if NO_COLOR is set.

Examples:

  schedgen show barrier/dissemination -p 8 --degree 2
  schedgen show bcast/mcast-acktree -p 8 --rank 3`
}

// Run draws the schedule or tells one rank's program.
func (c *showCmd) Run(ctx context.Context, std stdio) error {
	s, err := c.load(ctx, std)
	if err != nil {
		return err
	}
	out := ctxWriter{ctx, std.Out}
	if c.Rank == nil {
		o, err := c.options(s, std)
		if err != nil {
			return err
		}
		return emit.Rounds(out, s, o)
	}
	if c.Extract != (emit.Extract{}) {
		std.idle("extract", "nothing is drawn with --rank")
	}
	if c.Width != nil {
		std.idle("width", "nothing is drawn with --rank")
	}
	if *c.Rank < 0 || *c.Rank >= s.Ranks {
		return fmt.Errorf("--rank=%d: must be in 0..%d", *c.Rank, s.Ranks-1)
	}
	return emit.Explain(out, s, *c.Rank)
}

// options are how the schedule is drawn.
func (c *showCmd) options(s *ir.Schedule, std stdio) (emit.RoundsOptions, error) {
	o := emit.RoundsOptions{Width: min(std.width(), emit.MaxWidth), Color: std.color(), ASCII: c.ASCII, Lost: c.Lost, Extract: c.Extract}
	if c.Width != nil {
		if o.Width = *c.Width; o.Width < 1 || o.Width > emit.MaxWidth {
			return o, fmt.Errorf("--width=%d: must be in 1..%d", o.Width, emit.MaxWidth)
		}
	}
	if o.Lost && !multicastsIn(s) {
		std.idle("lost", "nothing is multicast")
		o.Lost = false
	}
	return o, nil
}

// multicastsIn reports whether any rank multicasts.
func multicastsIn(s *ir.Schedule) bool {
	mcast := func(a ir.Action) bool { return a.Op == ir.Mcast }
	rule := func(r ir.Rule) bool { return slices.ContainsFunc(r.Do, mcast) }
	return slices.ContainsFunc(s.Programs, func(p ir.Program) bool { return slices.ContainsFunc(p.Rules, rule) })
}
