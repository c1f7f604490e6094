package cli

import (
	"cmp"
	"encoding/csv"
	"io"
	"slices"
	"strconv"

	"github.com/schedgen/schedgen/internal/chart"
	"github.com/schedgen/schedgen/internal/source"
	"github.com/schedgen/schedgen/ir"
	"github.com/schedgen/schedgen/sim"
)

// simHeader is the first line of the CSV. Times are in nanoseconds, and empty if all calls returned
// in no run. Counts are sums over the runs.
var simHeader = []string{
	"schedule", "ranks", "bytes", "runs", "never", "least_ns", "median_ns", "mean_ns", "p99_ns", "most_ns",
	"puts", "multicasts", "received", "lost", "repairs", "events",
}

func writeSimCSV(w io.Writer, points []*point) error {
	out := csv.NewWriter(w)
	if err := out.Write(simHeader); err != nil {
		return err
	}
	for _, p := range points {
		n := &p.counts
		row := []string{p.name}
		for _, v := range []int64{int64(p.header.Ranks), int64(p.bytes), int64(len(p.spans) + p.never), int64(p.never)} {
			row = append(row, strconv.FormatInt(v, 10))
		}
		for _, t := range []sim.Time{p.quantile(0), p.quantile(0.5), p.mean(), p.quantile(0.99), p.quantile(1)} {
			text := ""
			if t != sim.Never {
				text = strconv.FormatInt(int64(t), 10)
			}
			row = append(row, text)
		}
		for _, v := range []int64{n.Sends - n.Mcasts, n.Mcasts, n.Received, n.Lost, n.Repairs, n.Events} {
			row = append(row, strconv.FormatInt(v, 10))
		}
		if err := out.Write(row); err != nil {
			return err
		}
	}
	out.Flush()
	return out.Error()
}

// simObject is the JSON form of a point.
type simObject struct {
	Schedule string         `json:"schedule"`
	Ranks    int            `json:"ranks"`
	Bytes    int            `json:"bytes"`
	Params   map[string]int `json:"params"`
	Runs     int            `json:"runs"`
	Never    int            `json:"never"`
	Least    *int64         `json:"least_ns"` // null if all calls returned in no run
	Median   *int64         `json:"median_ns"`
	Mean     *int64         `json:"mean_ns"`
	P99      *int64         `json:"p99_ns"`
	Most     *int64         `json:"most_ns"`
	Counts   sim.Counts     `json:"counts"` // sums over all runs
	Calls    []*int64       `json:"calls_ns,omitempty"`
	Returns  []*int64       `json:"returns_ns,omitempty"`
	Path     []stepObject   `json:"path,omitempty"`
	Loads    []sim.Load     `json:"loads,omitempty"`
	Arcs     []arcLoad      `json:"arcs,omitempty"` // the busiest first, without those that carried nothing
}

// stepObject is a step of the critical path.
type stepObject struct {
	Rank  int      `json:"rank"`
	Op    string   `json:"op"`
	Slot  string   `json:"slot,omitempty"`  // "none" for work
	Slots []string `json:"slots,omitempty"` // in place of slot: the slots of a message with several
	Peer  int      `json:"peer"`            // -1 for a multicast, and for steps without a peer
	Begin int64    `json:"begin_ns"`
	End   int64    `json:"end_ns"`
}

func newStepObject(s *sim.Step) stepObject {
	o := stepObject{Rank: s.Rank, Op: s.Op.String(), Peer: s.Peer, Begin: int64(s.Begin), End: int64(s.End)}
	switch len(s.Slots) {
	case 0:
		o.Slot = ir.None.String()
	case 1:
		o.Slot = s.Slots[0].String()
	default:
		for _, slot := range s.Slots {
			o.Slots = append(o.Slots, slot.String())
		}
	}
	return o
}

func (c *simCmd) object(p *point) simObject {
	o := simObject{
		Schedule: p.name, Ranks: p.header.Ranks, Bytes: p.bytes, Params: source.ParamObject(&p.header),
		Runs: len(p.spans) + p.never, Never: p.never, Least: nanos(p.quantile(0)), Median: nanos(p.quantile(0.5)),
		Mean: nanos(p.mean()), P99: nanos(p.quantile(0.99)), Most: nanos(p.quantile(1)), Counts: p.counts,
	}
	if c.PerRank {
		for r, t := range p.first.Returns {
			o.Calls, o.Returns = append(o.Calls, nanos(p.first.Enters[r])), append(o.Returns, nanos(t))
		}
	}
	for i := range p.first.Path {
		o.Path = append(o.Path, newStepObject(&p.first.Path[i]))
	}
	if c.Loads {
		o.Loads, o.Arcs = p.first.Loads, c.arcLoads(p)
	}
	return o
}

// arcLoad is what crossed an arc of the network in a run.
type arcLoad struct {
	From     string   `json:"from"`
	To       string   `json:"to"`
	Messages int      `json:"messages"`
	Bytes    int      `json:"bytes"`
	Busy     sim.Time `json:"busy_ns"`
}

// arcLoads returns the loads of a point's arcs, of the busiest first.
func (c *simCmd) arcLoads(p *point) []arcLoad {
	var all []arcLoad
	for arc, l := range p.first.ArcLoads {
		if a := c.net.Arcs[arc]; l.Packets > 0 {
			all = append(all, arcLoad{c.net.NameOf(a.From), c.net.NameOf(a.To), l.Packets, l.Bytes, l.Busy})
		}
	}
	slices.SortStableFunc(all, func(a, b arcLoad) int { return cmp.Compare(b.Busy, a.Busy) })
	return all
}

// draw draws the points as SVG.
func (c *simCmd) draw(w io.Writer, points []*point) error {
	title := points[0].name + ", " + c.Model + " model"
	if len(points) == 1 {
		return chart.Write(w, chart.Chart{Title: title, X: "rank", Y: "time, µs", Lines: points[0].rankLines()})
	}
	x, of := "ranks", func(p *point) float64 { return float64(p.header.Ranks) }
	if points[0].header.Ranks == points[len(points)-1].header.Ranks {
		x, of = "bytes", func(p *point) float64 { return float64(p.bytes) }
	}
	return chart.Write(w, chart.Chart{Title: title, X: x, Y: "makespan, µs", LogX: true, Lines: c.lines(points, x, of)})
}
