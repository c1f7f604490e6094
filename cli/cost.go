package cli

import (
	"context"
	"fmt"
	"io"
	"strconv"
	"strings"
	"text/tabwriter"

	"github.com/schedgen/schedgen/internal/source"
	"github.com/schedgen/schedgen/internal/terminal"
	"github.com/schedgen/schedgen/ir"
	"github.com/schedgen/schedgen/sim"
	"github.com/schedgen/schedgen/verify"
)

// costCmd is the verb cost.
type costCmd struct {
	source.Args
	loggpArgs
	networkFlag
	Linear  *linearFlag `placeholder:"T0,TD" help:"Also print the times in the linear model of paper 004: latency T0 of a message, time TD of a byte, such as 150us,80ns."`
	PerRank bool        `help:"Also print a table with a line for each rank."`
	JSON    bool        `name:"json" help:"Print an object."`
}

// Help is the long help text.
func (costCmd) Help() string {
	return `Counts the messages of a run in which nothing is lost. Bytes are multiples of n, the length of a
block: a broadcast has one block, its message, and an allgather has one for each rank. A message
of several chunks counts once.

Rounds is the number of rounds until the last call returns, if each transfer takes one round.
A call returns when its rank has everything that it waits for and has sent everything that it
must send. A call that never returns is not counted.

The makespan is the time at which the last call returns in the LogGP model. --loggp and --size
set the parameters of the model; the defaults are those of the simulator LogGOPSim. In the model
a multicast is one send that every other rank receives. A fold takes --fold for each byte.

--linear adds the times in the linear model of paper 004, in which a message of n bytes takes
T0 + n·TD. With synchronous sends, each send begins when the one before has arrived (the paper's
equation 2). With asynchronous sends, the sends share the sender's link and their T0 overlap
(equations 4 and 5).

With --network, cost also prints the arcs of the network that are busy for the longest time, and how
many blocks cross them. Messages take the network's routes, and signals count as nothing. If all
arcs could send all the time, the schedule would take as long as the busiest arc. The line tells how
near that is to the bound of the network: a block of n bits takes n times the bound, or longer. It
is known for allgather, reduce-scatter, allreduce, bcast and reduce. Of GOAL and MSCCL XML files
cost prints only what crosses the network, in bytes; for MSCCL XML --size is the length of a chunk.

Examples:

  schedgen cost bcast/binomial -p 64 --chunks 8 --per-rank
  schedgen cost bcast/symmetric -p 15 --size 64KiB --linear 150us,80ns
  schedgen cost allgather/ring --network two-sites.net`
}

// Run prints the cost of a schedule.
func (c *costCmd) Run(ctx context.Context, std terminal.Stdio) error {
	if err := c.networkFlag.load(ctx, std, c.Source); err != nil {
		return err
	}
	out := terminal.NewWriter(ctx, std.Out)
	var s *ir.Schedule
	if c.net != nil && c.IsFile() {
		l, err := c.OpenSniffed(ctx, std)
		if err != nil {
			return err
		}
		defer l.File.Close() // read only: nothing to lose
		if l.Form != nil {
			return c.runForeign(ctx, out, l)
		}
		if s, err = c.Read(ctx, l.In); err != nil {
			return err
		}
		if err := c.fits(c.Source, s.Ranks); err != nil {
			return err
		}
	} else {
		var err error
		if c.Ranks, err = c.ranks(c.Ranks); err != nil {
			return err
		}
		if s, err = c.Args.Load(ctx, std); err != nil {
			return err
		}
	}
	std.Does("counting " + c.Source)
	count := func() (*costs, error) {
		total, ranks, err := verify.CostByRank(s)
		if err != nil {
			return nil, err
		}
		span, err := c.simulate(s)
		if err != nil {
			return nil, err
		}
		linear, err := c.Linear.time(s, span.bytes, sim.PerByte(c.Fold))
		if err != nil || c.net == nil {
			return &costs{&s.Header, total, ranks, span, linear, nil}, err
		}
		net, err := netCostOf(c.net, s)
		if err != nil {
			return nil, source.Placed(c.Network, err)
		}
		return &costs{&s.Header, total, ranks, span, linear, net}, nil
	}
	all, err := terminal.Await(ctx, count)
	if err != nil {
		return err
	}
	if c.JSON {
		return terminal.WriteJSON(out, all.object(c.PerRank), "")
	}
	if err := all.print(out); err != nil {
		return err
	}
	if all.net != nil {
		if err := all.net.print(out); err != nil {
			return err
		}
	}
	if !c.PerRank {
		return nil
	}
	return all.printRanks(out)
}

// costs holds the cost of a schedule and the share of each rank.
type costs struct {
	header *ir.Header
	total  verify.Cost
	ranks  []verify.RankCost
	span   *makespan
	linear *linearTime // nil without --linear
	net    *netCost    // nil without --network
}

func (c *costs) print(w io.Writer) error {
	_, err := fmt.Fprintf(w, `%s
  rounds       %d
  messages     %s
  bytes        %s
  out-degree   %d at most
  in-degree    %d at most
  makespan     %s
%s%s`, source.HeaderLine(c.header), c.total.Rounds, c.messages(), multiple(c.total.Bytes), c.total.MaxOut, c.total.MaxIn, c.span.spell(c.header), c.linear.line(c.header), c.net.line())
	return err
}

// messages returns the number of messages and of each kind of them. If messages carry several
// chunks it also tells the total number of chunks.
func (c *costs) messages() string {
	chunks := "of chunks"
	if c.total.Chunks != c.total.Puts {
		chunks = fmt.Sprintf("with %d chunks", c.total.Chunks)
	}
	var kinds []string
	for _, k := range []struct {
		n    int
		name string
	}{
		{c.total.Mcasts, "by multicast"}, {c.total.Puts, chunks}, {c.total.Signals, "of signals"},
	} {
		if k.n > 0 {
			kinds = append(kinds, fmt.Sprintf("%d %s", k.n, k.name))
		}
	}
	if len(kinds) == 0 {
		return "0"
	}
	return fmt.Sprintf("%d (%s)", c.total.Messages, strings.Join(kinds, ", "))
}

// multiple returns f as a multiple of n, the length of a block.
func multiple(f float64) string {
	if f == 0 {
		return "0"
	}
	return strconv.FormatFloat(f, 'g', 6, 64) + " n"
}

func (c *costs) printRanks(w io.Writer) error {
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprintln(t, "\nrank\tsent\treceived\tbytes out\tbytes in\tout-degree\tin-degree\treturns\t")
	for r, rank := range c.ranks {
		fmt.Fprintf(t, "%d\t%d\t%d\t%s\t%s\t%d\t%d\t%s\t\n", r, rank.Sent, rank.Received,
			multiple(rank.BytesOut), multiple(rank.BytesIn), rank.Out, rank.In, micros(c.span.result.Returns[r]))
	}
	return t.Flush()
}

// costObject is the JSON form of costs.
type costObject struct {
	Schedule string         `json:"schedule"`
	Ranks    int            `json:"ranks"`
	Root     int            `json:"root"` // 0 if the collective has no root
	Chunks   int            `json:"chunks"`
	Params   map[string]int `json:"params"`
	Rounds   int            `json:"rounds"`
	Messages int            `json:"messages"`
	Mcasts   int            `json:"mcasts"`
	Puts     int            `json:"puts"`
	Put      int            `json:"put_chunks"` // chunks of all puts; a put may carry several
	Signals  int            `json:"signals"`
	Bytes    float64        `json:"bytes"` // multiples of a block's length
	MaxOut   int            `json:"max_out"`
	MaxIn    int            `json:"max_in"`
	Makespan *int64         `json:"makespan_ns"` // null if some rank never returns
	LogGP    loggpObject    `json:"loggp"`
	Linear   *linearObject  `json:"linear,omitempty"`
	Network  *netObject     `json:"network,omitempty"`
	PerRank  []rankObject   `json:"per_rank,omitempty"`
}

type rankObject struct {
	Rank     int     `json:"rank"`
	Sent     int     `json:"sent"`
	Received int     `json:"received"`
	BytesOut float64 `json:"bytes_out"`
	BytesIn  float64 `json:"bytes_in"`
	Out      int     `json:"out"`
	In       int     `json:"in"`
	Returns  *int64  `json:"returns_ns"`
}

func (c *costs) object(perRank bool) costObject {
	h, t := c.header, &c.total
	o := costObject{
		Schedule: h.Name(), Ranks: h.Ranks, Root: h.Root, Chunks: h.Chunks, Params: source.ParamObject(h),
		Rounds: t.Rounds, Messages: t.Messages, Mcasts: t.Mcasts, Puts: t.Puts, Put: t.Chunks, Signals: t.Signals,
		Bytes: t.Bytes, MaxOut: t.MaxOut, MaxIn: t.MaxIn,
		Makespan: nanos(c.span.result.Makespan), LogGP: c.span.object(), Linear: c.linear.object(), Network: c.net.object(),
	}
	if !perRank {
		return o
	}
	for r, k := range c.ranks {
		o.PerRank = append(o.PerRank, rankObject{
			r, k.Sent, k.Received, k.BytesOut, k.BytesIn, k.Out, k.In, nanos(c.span.result.Returns[r]),
		})
	}
	return o
}
