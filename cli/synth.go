package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"strings"

	"github.com/schedgen/schedgen/ir"
	"github.com/schedgen/schedgen/network"
	"github.com/schedgen/schedgen/synth"
)

// synthCmd is the verb synth.
type synthCmd struct {
	Collective string `arg:"" enum:"allgather,reduce-scatter,allreduce,bcast,reduce" help:"One of ${enum}."`
	Network    string `arg:"" complete:"file" help:"File with a network (see schedgen network); - is standard input."`

	Root    int  `placeholder:"R" help:"Root of a broadcast or reduction; default 0."`
	Trees   int  `placeholder:"K" help:"Trees for each block; default as many as reach the bound, or few that come within 5 % of it."`
	Pieces  int  `placeholder:"L" help:"Pieces in which the parts of a block go one after the other; default 1."`
	Window  int  `placeholder:"W" help:"How many pieces a rank may be ahead of what comes to it; default 0, no limit."`
	Spread  bool `help:"Let trees use many neighbours of a rank rather than few."`
	Reorder bool `help:"Number the ranks so that those that follow each other are near."`
	Bound   bool `help:"Print only how fast the network lets the collective be."`
	JSON    bool `name:"json" help:"With --bound: print an object."`

	Format string `short:"f" enum:"text,json" default:"text" placeholder:"F" help:"One of ${enum}; default text."`
	Output string `short:"o" default:"-" placeholder:"FILE" help:"Write the schedule to FILE; default standard output."`
}

// Help is the long help text.
func (synthCmd) Help() string {
	return `Makes a schedule that moves large messages as fast as a network allows: it sends along spanning
trees that together load the links up to the bound. The schedule goes to the standard output, and a
summary to the standard error. Other verbs prove, simulate, draw and run the schedule. Rank r must
run on the r-th node that the network calls a rank.

The bound holds for every schedule: all blocks of ranks in a part of the network must leave it to
reach the ranks outside. An allreduce need not reach its bound.

A message is cut into pieces, so that a rank passes on one while the next one comes. Many pieces
keep all links busy, and cost more messages. A window keeps ranks from filling queues with their own
blocks.

Examples:

  schedgen network torus 4x4 > torus.net
  schedgen synth allgather torus.net --pieces 16 -o allgather.txt
  schedgen verify allgather.txt
  schedgen sim allgather.txt --network torus.net --size 1MiB
  schedgen synth bcast cluster.net --bound`
}

// Run makes a schedule.
func (c *synthCmd) Run(ctx context.Context, std stdio) error {
	if c.JSON && !c.Bound {
		return errors.New("--json: needs --bound; --format json writes the schedule as JSON")
	}
	n, err := readNetwork(ctx, std, c.Network)
	if err != nil {
		return err
	}
	if c.Reorder {
		n = n.Ordered(network.Order(n))
	}
	std.work.does("computing the bound")
	b, err := await(ctx, func() (synth.Bound, error) {
		return synth.BoundFrom(n, synth.Collective(c.Collective), c.Root)
	})
	if err != nil {
		return c.faultOf(err)
	}
	if c.Bound {
		out := ctxWriter{ctx, std.Out}
		if c.JSON {
			return writeJSON(out, b, "")
		}
		return printBound(out, n, b)
	}
	std.work.does("packing trees")
	p, err := await(ctx, func() (*synth.Planned, error) { return synth.Plan(n, c.options()) })
	if err != nil {
		return c.faultOf(err)
	}
	std.work.does("writing the schedule")
	s, err := await(ctx, p.Schedule)
	if err != nil {
		return err
	}
	write := ir.WriteText
	if c.Format == "json" {
		write = ir.WriteJSON
	}
	err = writeTo("output", c.Output, std.Out, func(w io.Writer) error { return write(ctxWriter{ctx, w}, s) })
	if err != nil {
		return err
	}
	return printPlan(ctxWriter{ctx, std.Err}, n, p)
}

func (c *synthCmd) options() synth.Options {
	return synth.Options{Collective: synth.Collective(c.Collective), Root: c.Root, Trees: c.Trees, Pieces: c.Pieces, Window: c.Window, Spread: c.Spread}
}

// faultOf adds the name of the file to an error about the network.
func (c *synthCmd) faultOf(err error) error {
	var flag *synth.FlagError
	if errors.As(err, &flag) || errors.Is(err, context.Canceled) {
		return err
	}
	return fmt.Errorf("%s: %w", c.Network, err)
}

// printBound prints a bound.
func printBound(w io.Writer, n *network.Network, b synth.Bound) error {
	block := "a block"
	row := b.Collective.Row()
	if row.Alike {
		block = "a vector"
	}
	var err error
	if b.Blocks == 0 {
		_, err = fmt.Fprintf(w, "%s on 1 rank: nothing is sent\n", b.Collective)
		return err
	}
	if _, err = fmt.Fprintf(w, "%s on %d ranks: %s of n bits needs n·%d/%s or longer\n", b.Collective, b.Ranks, block, b.Crossing, rateWords(b.Over)); err != nil {
		return err
	}
	what, comes := count(int(b.Crossing), "block"), "enter"
	if row.Alike {
		what = count(int(b.Crossing), "vector")
	}
	if b.Crossing == 1 {
		comes = "enters"
	}
	if len(b.Cut) == 0 {
		_, err = fmt.Fprintf(w, "  limit      all ranks: %s come in over %s together\n", what, rateWords(b.Over))
		return err
	}
	if row.Inputs != nil && !row.Alike {
		comes = strings.Replace(strings.Replace(comes, "enters", "leaves", 1), "enter", "leave", 1)
	}
	var arcs []string
	for _, arc := range b.Arcs {
		arcs = append(arcs, arcWords(n, arc))
	}
	_, err = fmt.Fprintf(w, "  limit      %s: %s %s over %s (%s)\n", some(b.Cut, " ", "nodes"), what, comes, rateWords(b.Over), some(arcs, ", ", "arcs"))
	return err
}

// some joins the first of many names.
func some(names []string, between, things string) string {
	const most = 6
	if len(names) <= most {
		return strings.Join(names, between)
	}
	return fmt.Sprintf("%s%s… (%d %s)", strings.Join(names[:most], between), between, len(names), things)
}

// printPlan prints the summary of a schedule.
func printPlan(w io.Writer, n *network.Network, p *synth.Planned) error {
	if err := printBound(w, n, p.Bound); err != nil || len(n.Ranks) == 1 {
		return err
	}
	whose := "a rank"
	if p.Roots == 1 {
		whose = fmt.Sprintf("of rank %d", p.Options.Root)
	}
	reach := "reaches the bound"
	if p.Ratio > 1+1e-9 {
		reach = fmt.Sprintf("takes %.2f times the bound", math.Ceil(p.Ratio*100)/100)
	}
	routes := "all messages take the network's own routes"
	if d := p.Detours; d.Paths > 0 {
		routes = fmt.Sprintf("%d of %d ways between ranks, with %.0f %% of what is sent, are longer than the network's own routes, which messages take", d.Paths, d.OfPaths, math.Ceil(100*float64(d.Trees)/float64(d.OfTrees)))
	}
	_, err := fmt.Fprintf(w, "  trees      %d %s, depth %d; %s\n  routes     %s\n  ranks      %s\n", p.K, whose, p.Depth, reach, routes, strings.Join(n.Ranks, " "))
	return err
}
