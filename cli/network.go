package cli

import (
	"context"
	"errors"
	"fmt"
	"math"
	"os"
	"strings"

	"github.com/schedgen/schedgen/internal/command"
	"github.com/schedgen/schedgen/internal/foreign/dot"
	"github.com/schedgen/schedgen/internal/source"
	"github.com/schedgen/schedgen/internal/terminal"
	"github.com/schedgen/schedgen/network"
	"github.com/schedgen/schedgen/schedule/selection"
	"github.com/schedgen/schedgen/synth"
)

// networkCmd is the verb network.
type networkCmd struct {
	What string `arg:"" name:"kind|file|order" complete:"network,file" help:"Kind of network: ${networks}; or a file, which is printed in the canonical form; or order, to propose which host is which rank."`
	Of   string `arg:"" optional:"" name:"sizes" complete:"file" help:"Sizes of the kind, such as 8 or 4x4; with order a file."`

	Rate   bitRate  `default:"10Gbit" placeholder:"RATE" help:"Bits a second of a link in each direction, for kinds and Slurm's topology.conf; default 10Gbit."`
	Trunk  bitRate  `placeholder:"RATE" help:"Bits a second of a link between switches; default --rate."`
	Delay  duration `placeholder:"TIME" help:"Delay of a link, such as 5us; default 0."`
	Loads  string   `placeholder:"SCHEDULE" complete:"file" help:"With -f dot: label each link with the blocks that the schedule of this file sends over it, and how busy it is."`
	Copies *int     `placeholder:"N" help:"Servers like the one of NCCL's topology, which one switch joins; default 1."`
	Format string   `short:"f" enum:"text,dot" default:"text" placeholder:"F" help:"One of text and dot (a picture for Graphviz); default text."`
}

// Help is the long help text.
func (networkCmd) Help() string {
	var kinds strings.Builder
	for _, k := range network.Kinds() {
		fmt.Fprintf(&kinds, "    %s %s\n        %s\n", k.Name, k.Form, k.Says)
	}
	return `Prints a network: ranks, switches, and the links between them. Other verbs read it and make,
simulate or judge schedules for it.

Kinds:

` + kinds.String() + `
The form of a file:

    network two-sites
    rank a0 a1 b0 b1                  # ranks 0, 1, 2, 3: in this order
    switch a b
    link a0 a 100Mbit                 # both directions
    link a1 a 100Mbit
    link b0 b 100Mbit
    link b1 b 100Mbit
    link a b 10Mbit delay=5ms
    arc a0 b0 1Mbit                   # one direction; parallel arcs add up
    route a1 b0 a b                   # the way from a1 to b0, over a and b

A file may also have another form, which its contents show:

    Graphviz's DOT          nodes with rank=3, edges with rate and delay
    NCCL's topology         of NCCL_TOPO_DUMP_FILE; the GPUs are the ranks, with
                            the rates that NCCL assumes; --copies joins servers
    ASTRA-sim's network     the YAML file of its analytical backend
    Slurm's topology.conf   a tree without rates: --rate is that of hosts,
                            --trunk that of links between switches

order prints the network with its ranks in an order in which ranks that follow each other are near:
a ring or a chain among ranks of two racks that alternate takes several times as long as one in
which each rack's ranks follow each other.

Examples:

  schedgen network torus 4x4 --rate 10Gbit > torus.net
  schedgen network racks 2x8 --trunk 20Gbit -f dot | dot -Tsvg -o racks.svg
  schedgen network order cluster.net > ordered.net
  schedgen network topo.xml --copies 4 > servers.net
  schedgen network topology.conf --trunk 40Gbit > cluster.net`
}

// Run prints a network.
func (c *networkCmd) Run(ctx context.Context, std terminal.Stdio) error {
	n, err := c.network(ctx, std)
	if err != nil {
		return err
	}
	out := terminal.NewWriter(ctx, std.Out)
	switch {
	case c.Format == "dot":
		label, err := c.label(ctx, std, n)
		if err != nil {
			return err
		}
		return dot.Write(out, n, label)
	case c.Loads != "":
		return errors.New("--loads: needs -f dot")
	}
	return n.Write(out)
}

// label returns the texts at arcs, or nil if they are rates.
func (c *networkCmd) label(ctx context.Context, std terminal.Stdio, n *network.Network) (func(arc int) string, error) {
	if c.Loads == "" {
		return nil, nil
	}
	s, err := (&source.Args{Source: c.Loads}).Load(ctx, std)
	if err == nil && s.Ranks != len(n.Ranks) {
		err = fmt.Errorf("it has %s, and the network %d", command.Count(s.Ranks, "rank"), len(n.Ranks))
	}
	if err != nil {
		return nil, fmt.Errorf("--loads: %s: %w", c.Loads, err)
	}
	loads, err := terminal.Await(ctx, func() (*netCost, error) { return netCostOf(n, s) })
	if err != nil {
		return nil, fmt.Errorf("--loads: %s: %w", c.Loads, err)
	}
	most := 0.0
	for arc := range n.Arcs {
		most = max(most, loads.busy(arc))
	}
	return func(arc int) string {
		return fmt.Sprintf("%.3g (%.0f %%)", loads.loads[arc], 100*loads.busy(arc)/max(most, math.SmallestNonzeroFloat64))
	}, nil
}

func (c *networkCmd) network(ctx context.Context, std terminal.Stdio) (*network.Network, error) {
	links := network.Options{Rate: int64(c.Rate), Trunk: int64(c.Trunk), Delay: int64(c.Delay)}
	if c.Copies != nil && (*c.Copies < 1 || *c.Copies > network.MaxRanks) {
		return nil, fmt.Errorf("--copies=%d: must be in 1..%d", *c.Copies, network.MaxRanks)
	}
	for _, k := range network.Kinds() {
		if k.Name != c.What {
			continue
		}
		if c.Of == "" {
			return nil, fmt.Errorf("%s: want sizes, %s", c.What, k.Form)
		}
		if c.Copies != nil {
			return nil, errors.New("--copies: needs a file with NCCL's topology")
		}
		return network.Generate(c.What, c.Of, links)
	}
	if c.What == "order" {
		if c.Of == "" {
			return nil, errors.New("order: want a file with a network")
		}
		n, err := readNetworkWith(ctx, std, c.Of, fileOptions{c.Copies, &links})
		if err != nil {
			return nil, err
		}
		return n.Ordered(network.Order(n)), nil
	}
	if c.Of != "" {
		_, err := network.Generate(c.What, c.Of, network.Options{})
		return nil, err
	}
	if _, err := os.Stat(c.What); err != nil && c.What != "-" {
		return nil, fmt.Errorf("%w; the kinds of networks are %s", err, networkKinds())
	}
	return readNetworkWith(ctx, std, c.What, fileOptions{c.Copies, &links})
}

// networkKinds lists the kinds of networks.
func networkKinds() string {
	var names []string
	for _, k := range network.Kinds() {
		names = append(names, k.Name)
	}
	return strings.Join(names, ", ")
}

// preferFlag names the network for which schedules are preferred.
type preferFlag struct {
	Network string `placeholder:"FILE" complete:"file" help:"File with the network of the ranks (see schedgen network): schedules that are made for it run where a simulation says that they are 1.2 times faster."`
}

// prefer returns rules that prefer schedules for the network to those of base, and the text of the
// network. ranks is the number of ranks.
func (f *preferFlag) prefer(ctx context.Context, std terminal.Stdio, base *selection.Rules, ranks int) (rules *selection.Rules, text string, err error) {
	if f.Network == "" {
		return base, "", nil
	}
	n, err := readNetwork(ctx, std, f.Network)
	if err != nil {
		return nil, "", fmt.Errorf("--network: %w", err)
	}
	if len(n.Ranks) != ranks {
		return nil, "", fmt.Errorf("--network: %s has %d ranks, not %d", f.Network, len(n.Ranks), ranks)
	}
	std.Does("making schedules for " + f.Network)
	if rules, err = terminal.Await(ctx, func() (*selection.Rules, error) { return synth.Rules(ctx, n, base) }); err != nil {
		return nil, "", fmt.Errorf("--network: %s: %w", f.Network, err)
	}
	var b strings.Builder
	err = n.Write(&b)
	return rules, b.String(), err
}
