package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"strings"
	"time"

	"github.com/schedgen/schedgen/internal/command"
	"github.com/schedgen/schedgen/internal/terminal"
	"github.com/schedgen/schedgen/ir"
	"github.com/schedgen/schedgen/network"
	"github.com/schedgen/schedgen/sim"
	"github.com/schedgen/schedgen/synth"
)

// synthCmd is the verb synth.
type synthCmd struct {
	Collective string `arg:"" enum:"allgather,reduce-scatter,allreduce,bcast,reduce" help:"One of ${enum}."`
	Network    string `arg:"" complete:"file" help:"File with a network (see schedgen network); - is standard input."`

	Size    *byteSize `placeholder:"SIZE" help:"Bytes of a block: try several numbers of pieces, windows and neighbours in a simulation, and take the fastest."`
	Root    int       `placeholder:"R" help:"Root of a broadcast or reduction; default 0."`
	Trees   int       `placeholder:"K" help:"Trees for each block; default as many as reach the bound, or few that come within 5 % of it."`
	Pieces  *int      `placeholder:"L" help:"Pieces in which the parts of a block go one after the other; default 1."`
	Window  *int      `placeholder:"W" help:"How many pieces a rank may be ahead of what comes to it; default 0, no limit."`
	Spread  bool      `help:"Let trees use many neighbours of a rank rather than few."`
	Reorder bool      `help:"Number the ranks so that those that follow each other are near."`
	Bound   bool      `help:"Print only how fast the network lets the collective be."`
	JSON    bool      `name:"json" help:"With --bound: print an object."`

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

  schedgen synth allgather torus.net --pieces 16 --window 4 -o allgather.txt
  schedgen synth allreduce cluster.net --size 64MiB -o allreduce.txt
  schedgen synth bcast cluster.net --bound`
}

// Run makes a schedule.
func (c *synthCmd) Run(ctx context.Context, std terminal.Stdio) error {
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
	if c.Bound {
		std.Does("computing the bound")
		b, err := terminal.Await(ctx, func() (synth.Bound, error) {
			return synth.BoundFrom(n, synth.Collective(c.Collective), c.Root)
		})
		if err != nil {
			return c.faultOf(err)
		}
		out := terminal.NewWriter(ctx, std.Out)
		if c.JSON {
			return terminal.WriteJSON(out, b, "")
		}
		return printBound(out, n, b)
	}
	std.Does("packing trees")
	f, err := c.fastest(ctx, std, n)
	if err != nil {
		return c.faultOf(err)
	}
	std.Does("writing the schedule")
	s, err := terminal.Await(ctx, func() (*ir.Schedule, error) { return f.plan.Schedule(), nil })
	if err != nil {
		return err
	}
	write := ir.WriteText
	if c.Format == "json" {
		write = ir.WriteJSON
	}
	err = terminal.WriteTo("output", c.Output, std.Out, func(w io.Writer) error { return write(terminal.NewWriter(ctx, w), s) })
	if err != nil {
		return err
	}
	return f.print(terminal.NewWriter(ctx, std.Err), n)
}

// synthesized is a plan, and how long its schedule takes in the simulation of a size.
type synthesized struct {
	plan  *synth.Planned
	bytes int // 0: it was not simulated
	took  sim.Time
}

// fastest returns the plan that the flags describe. With --size it tries what they leave open.
func (c *synthCmd) fastest(ctx context.Context, std terminal.Stdio, n *network.Network) (best synthesized, err error) {
	spreads, windows, pieces := []bool{c.Spread}, []int{0}, []int{1}
	if c.Size != nil {
		if best.bytes = int(*c.Size); best.bytes < 1 {
			return best, fmt.Errorf("--size=%v: must be at least 1 B", c.Size)
		}
		windows, pieces = []int{0, 4, 8}, []int{1, 4, 16, 64}
		if !c.Spread && len(n.Ranks) <= 64 {
			spreads = []bool{false, true}
		}
	}
	if c.Pieces != nil {
		pieces = []int{*c.Pieces}
	}
	if c.Window != nil {
		windows = []int{*c.Window}
	}
	bar := terminal.NewProgress(std, len(spreads)*len(windows)*len(pieces), "simulating")
	defer bar.Clear()
	for _, spread := range spreads {
		o := synth.Options{Collective: synth.Collective(c.Collective), Root: c.Root, Trees: c.Trees, Pieces: pieces[0], Window: windows[0], Spread: spread}
		p, err := terminal.Await(ctx, func() (*synth.Planned, error) { return synth.Plan(n, o) })
		if err != nil {
			return best, err
		}
		if c.Size == nil {
			best.plan = p
			return best, nil
		}
		for _, o.Window = range windows {
			for _, o.Pieces = range pieces {
				if err := best.try(ctx, n, p, o); err != nil {
					return best, err
				}
				bar.Advance()
			}
		}
	}
	if best.plan == nil {
		return best, fmt.Errorf("--size=%v: each schedule has too many messages to be simulated: lower --pieces or --trees", c.Size)
	}
	return best, nil
}

// try simulates a plan with other pieces and another window, and keeps it if it is the fastest.
func (b *synthesized) try(ctx context.Context, n *network.Network, p *synth.Planned, o synth.Options) error {
	const most = 1 << 20 // chunks that a schedule puts: it is simulated in some seconds
	if o.Window > 0 && (o.Pieces <= o.Window || !o.Collective.Windows()) || p.Puts(o.Pieces) > most {
		return nil // the window would hold back nothing
	}
	q := *p
	q.Options = o
	took, err := terminal.Await(ctx, func() (sim.Time, error) {
		r, err := sim.Run(sim.Of(q.Schedule()), sim.Config{Model: sim.Network{O: synth.Overhead, Net: n}, Bytes: b.bytes, Fold: sim.DefaultFold})
		if err != nil {
			return 0, err
		}
		return r.Makespan, nil
	})
	if err == nil && (b.plan == nil || took < b.took) {
		b.plan, b.took = &q, took
	}
	return err
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
	what, comes := command.Count(int(b.Crossing), "block"), "enter"
	if row.Alike {
		what = command.Count(int(b.Crossing), "vector")
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
	most := 6
	if things == "ranks" { // people copy these
		most = 32
	}
	if len(names) <= most {
		return strings.Join(names, between)
	}
	return fmt.Sprintf("%s%s… (%d %s)", strings.Join(names[:most], between), between, len(names), things)
}

// print prints the summary of a schedule.
func (b *synthesized) print(w io.Writer, n *network.Network) error {
	p := b.plan
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
	if _, err := fmt.Fprintf(w, "  trees      %d %s, depth %d; %s\n  routes     %s\n", p.K, whose, p.Depth, reach, routes); err != nil {
		return err
	}
	if b.bytes > 0 {
		o := p.Options
		near := "few neighbours"
		if o.Spread {
			near = "many neighbours"
		}
		if o.Window > 0 {
			near += fmt.Sprintf(", a window of %d", o.Window)
		}
		at := p.Bound.Seconds(b.bytes) * 1e9
		if _, err := fmt.Fprintf(w, "  %-9v  %s, %s: %v simulated, %.2f times the bound\n", byteSize(b.bytes), command.Count(o.Pieces, "piece"), near, time.Duration(b.took).Round(time.Microsecond), float64(b.took)/at); err != nil {
			return err
		}
	}
	_, err := fmt.Fprintf(w, "  ranks      %s\n", some(n.Ranks, " ", "ranks"))
	return err
}
