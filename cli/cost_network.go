package cli

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"path/filepath"
	"slices"
	"text/tabwriter"

	"github.com/schedgen/schedgen/internal/command"
	"github.com/schedgen/schedgen/internal/foreign/dag"
	"github.com/schedgen/schedgen/internal/source"
	"github.com/schedgen/schedgen/internal/terminal"
	"github.com/schedgen/schedgen/ir"
	"github.com/schedgen/schedgen/network"
	"github.com/schedgen/schedgen/synth"
	"github.com/schedgen/schedgen/verify"
)

// netCost is what crosses the arcs of a network, and how near that is to the bound of the network.
type netCost struct {
	net   *network.Network
	loads []float64    // by arc, in blocks or bytes
	bytes bool         // loads are in bytes
	bound *synth.Bound // nil: none is known for the collective
	ratio float64      // how many times as long as the bound the busiest arc is busy
}

// netCostOf returns the loads of a schedule. Signals count as nothing.
func netCostOf(n *network.Network, s *ir.Schedule) (*netCost, error) {
	l := newLoads(n)
	if s.HasMessage() {
		each := 1 / float64(s.BlockChunks())
		err := verify.EachSend(s, func(rank int, a ir.Action) {
			switch {
			case a.Slot.Kind() == ir.KindSignal:
			case a.Op == ir.Mcast:
				l.multicast(rank, each)
			default:
				l.put(rank, int(a.To), each)
			}
		})
		if err := cmp.Or(err, l.err); err != nil {
			return nil, err
		}
	}
	c := &netCost{net: n, loads: l.of}
	return c, c.compare(&s.Header, 1)
}

// netCostOfGraph returns the loads of a schedule of another program, with messages in units of unit
// bytes. Its file may say how many units a block has.
func netCostOfGraph(n *network.Network, g *dag.Graph, unit int) (*netCost, error) {
	l := newLoads(n)
	for rank, ops := range g.Ranks {
		for i := range ops {
			if ops[i].Kind == dag.Send {
				l.put(rank, ops[i].Peer, float64(ops[i].Size)*float64(unit))
			}
		}
	}
	if l.err != nil {
		return nil, l.err
	}
	c := &netCost{net: n, loads: l.of, bytes: true}
	row, known := ir.CollectiveNamed(g.As)
	if !known || g.Cells == nil || row.Wanted == nil {
		return c, nil
	}
	ranks := len(g.Ranks)
	blocks := row.Wanted(ranks, 0, 0).Count
	if blocks == 0 || g.Cells.Result[0].Len%blocks != 0 {
		return c, nil
	}
	return c, c.compare(&ir.Header{Collective: g.As, Ranks: ranks}, float64(g.Cells.Result[0].Len/blocks*unit))
}

// compare computes the bound of a collective. of is the load of one block.
func (c *netCost) compare(h *ir.Header, of float64) error {
	collective := synth.Collective(h.Collective)
	if !slices.Contains(synth.Collectives(), collective) || of == 0 {
		return nil
	}
	b, err := synth.BoundFrom(c.net, collective, h.Root)
	if err != nil {
		return err
	}
	blocks := slices.Clone(c.loads)
	for i := range blocks {
		blocks[i] /= of
	}
	c.bound, c.ratio = &b, synth.RatioOf(c.net, b, blocks)
	return nil
}

// loads adds up what crosses arcs.
type loads struct {
	router *network.Router
	route  []int
	of     []float64 // by arc
	err    error     // the first
}

func newLoads(n *network.Network) *loads {
	return &loads{router: network.NewRouter(n), of: make([]float64, len(n.Arcs))}
}

func (l *loads) put(from, to int, amount float64) {
	if l.err == nil {
		l.route, l.err = l.router.Route(l.route[:0], from, to)
		l.add(l.route, amount)
	}
}

func (l *loads) multicast(from int, amount float64) {
	if l.err == nil {
		var tree []int
		tree, l.err = l.router.Tree(from)
		l.add(tree, amount)
	}
}

func (l *loads) add(arcs []int, amount float64) {
	for _, arc := range arcs {
		l.of[arc] += amount
	}
}

// busiest returns the arcs that carry anything, the busiest first.
func (c *netCost) busiest() []int {
	var arcs []int
	for arc, load := range c.loads {
		if load > 0 {
			arcs = append(arcs, arc)
		}
	}
	slices.SortStableFunc(arcs, func(a, b int) int { return cmp.Compare(c.busy(b), c.busy(a)) })
	return arcs
}

// busy returns how long an arc is busy with its load.
func (c *netCost) busy(arc int) float64 { return c.loads[arc] / float64(c.net.Arcs[arc].Rate) }

// line returns the line that cost prints of the bound, or "" if c is nil.
func (c *netCost) line() string {
	if c == nil {
		return ""
	}
	text := fmt.Sprintf("%s, %s", command.Count(len(c.net.Ranks), "rank"), command.Count(len(c.net.Arcs), "arc"))
	switch {
	case c.bound == nil:
		text += "; no bound is known for this collective"
	case c.bound.Blocks == 0:
	case c.ratio == 0:
		text += "; nothing crosses it"
	default:
		text += fmt.Sprintf("; reaches %.3g %% of the bound: %d/%s", 100/c.ratio, c.bound.Blocks, rateWords(c.bound.Rate))
	}
	return "  network      " + text + "\n"
}

// mostArcs is how many arcs cost prints.
const mostArcs = 10

// print prints the busiest arcs.
func (c *netCost) print(w io.Writer) error {
	busiest := c.busiest()
	if len(busiest) == 0 {
		return nil
	}
	unit := "blocks"
	if c.bytes {
		unit = "bytes"
	}
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprintf(t, "\nbusiest arcs\trate\t%s\tbusy\t\n", unit)
	for _, arc := range busiest[:min(mostArcs, len(busiest))] {
		fmt.Fprintf(t, "%s\t%s\t%.6g\t%.3g %%\t\n", arcWords(c.net, arc), rateWords(c.net.Arcs[arc].Rate), c.loads[arc], 100*c.busy(arc)/c.busy(busiest[0]))
	}
	if err := t.Flush(); err != nil {
		return err
	}
	var err error
	if more := len(busiest) - mostArcs; more > 0 {
		_, err = fmt.Fprintf(w, "and %s that are no busier\n", command.Count(more, "arc"))
	}
	return err
}

// netObject is the JSON form of netCost.
type netObject struct {
	Network string       `json:"network,omitempty"`
	Bound   *synth.Bound `json:"bound,omitempty"`
	Ratio   float64      `json:"ratio,omitempty"` // how many times as long as the bound the busiest arc is busy
	Arcs    []arcObject  `json:"arcs"`            // the busiest first, without those that carry nothing
}

// arcObject is an arc and its load in blocks, or for a file of another program in bytes.
type arcObject struct {
	From   string  `json:"from"`
	To     string  `json:"to"`
	Rate   int64   `json:"rate"`
	Blocks float64 `json:"blocks,omitempty"`
	Bytes  float64 `json:"bytes,omitempty"`
}

func (c *netCost) object() *netObject {
	if c == nil {
		return nil
	}
	o := &netObject{Network: c.net.Name, Bound: c.bound, Ratio: c.ratio, Arcs: []arcObject{}}
	for _, arc := range c.busiest() {
		a := c.net.Arcs[arc]
		x := arcObject{From: c.net.NameOf(a.From), To: c.net.NameOf(a.To), Rate: a.Rate}
		if c.bytes {
			x.Bytes = c.loads[arc]
		} else {
			x.Blocks = c.loads[arc]
		}
		o.Arcs = append(o.Arcs, x)
	}
	return o
}

// foreignObject is the JSON form of the cost of a file of another program.
type foreignObject struct {
	Schedule string     `json:"schedule"`
	Ranks    int        `json:"ranks"`
	Network  *netObject `json:"network"`
}

// runForeign prints what crosses the arcs of the network in a schedule of another program.
func (c *costCmd) runForeign(ctx context.Context, out io.Writer, l source.Looked) error {
	if err := c.CheckOwn(l.Form); err != nil {
		return err
	}
	if c.Linear != nil || c.PerRank {
		return fmt.Errorf("--linear, --per-rank: not for a file of another program")
	}
	unit := 1
	switch {
	case c.Size == nil:
	case !l.Form.Chunks:
		return fmt.Errorf("--size: %s states its own lengths", c.Source)
	default:
		unit = int(*c.Size)
	}
	name := filepath.Base(c.Source)
	ranks := 0
	of, err := terminal.Await(ctx, func() (*netCost, error) {
		g, err := l.Form.Read(l.In)
		if err != nil {
			return nil, source.Placed(c.Source, err)
		}
		ranks = len(g.Ranks)
		if err := c.fits(c.Source, ranks); err != nil {
			return nil, err
		}
		of, err := netCostOfGraph(c.net, g, unit)
		if err != nil {
			return nil, source.Placed(c.Network, err)
		}
		return of, nil
	})
	if err != nil {
		return err
	}
	if c.JSON {
		return terminal.WriteJSON(out, foreignObject{name, ranks, of.object()}, "")
	}
	if _, err := fmt.Fprintf(out, "%s, %s of %s\n%s", name, l.Form.Name, command.Count(ranks, "rank"), of.line()); err != nil {
		return err
	}
	return of.print(out)
}
