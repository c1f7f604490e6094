package cli

import (
	"fmt"
	"io"
	"strconv"
	"strings"
	"text/tabwriter"

	"github.com/schedgen/schedgen/internal/terminal"
	"github.com/schedgen/schedgen/ir"
	"github.com/schedgen/schedgen/sim"
)

// note adds the result of a run.
func (p *point) note(r *sim.Result) {
	if p.first == nil {
		p.first = r
	}
	if r.Makespan == sim.Never {
		p.never++
	} else {
		p.spans = append(p.spans, r.Makespan)
	}
	p.counts.Sends += r.Counts.Sends
	p.counts.Mcasts += r.Counts.Mcasts
	p.counts.Received += r.Counts.Received
	p.counts.Lost += r.Counts.Lost
	p.counts.Repairs += r.Counts.Repairs
	p.counts.Folds += r.Counts.Folds
	p.counts.Events += r.Counts.Events
}

// quantile returns the quantile q, from 0 to 1, of the makespans, which must be sorted. It returns
// Never if there are none.
func (p *point) quantile(q float64) sim.Time {
	if len(p.spans) == 0 {
		return sim.Never
	}
	return p.spans[min(int(q*float64(len(p.spans))), len(p.spans)-1)]
}

// mean returns the mean of the makespans, rounded down.
func (p *point) mean() sim.Time {
	if len(p.spans) == 0 {
		return sim.Never
	}
	sum := 0.0
	for _, t := range p.spans {
		sum += float64(t)
	}
	return sim.Time(sum / float64(len(p.spans)))
}

// each spells a sum over the runs as a number per run.
func (p *point) each(n int64) string {
	runs := int64(len(p.spans) + p.never)
	if n%runs == 0 {
		return strconv.FormatInt(n/runs, 10)
	}
	return strconv.FormatFloat(float64(n)/float64(runs), 'f', 2, 64)
}

func (c *simCmd) print(w io.Writer, points []*point) error {
	if c.JSON {
		objects := make([]simObject, len(points))
		for i, p := range points {
			objects[i] = c.object(p)
		}
		return terminal.WriteJSON(w, objects, "")
	}
	if err := c.printTable(w, points); err != nil {
		return err
	}
	for _, more := range []struct {
		wanted bool
		print  func(*point, *tabwriter.Writer)
	}{{c.PerRank, (*point).ranksTo}, {c.Path, (*point).pathTo}, {c.Loads, c.loadsTo}} {
		for _, p := range points {
			if !more.wanted {
				continue
			}
			fmt.Fprintf(w, "\n%d ranks, %v\n", p.header.Ranks, byteSize(p.bytes))
			t := tabwriter.NewWriter(w, 0, 0, 2, ' ', tabwriter.AlignRight)
			more.print(p, t)
			if err := t.Flush(); err != nil {
				return err
			}
		}
	}
	return nil
}

// ranksTo prints when each rank calls and returns.
func (p *point) ranksTo(t *tabwriter.Writer) {
	fmt.Fprintln(t, "rank\tcalls\treturns\t")
	for r, returns := range p.first.Returns {
		fmt.Fprintf(t, "%d\t%s\t%s\t\n", r, micros(p.first.Enters[r]), micros(returns))
	}
}

// pathTo prints the critical path. There is none if some rank never returns. Then pathTo prints
// where the reason is.
func (p *point) pathTo(t *tabwriter.Writer) {
	switch {
	case p.first.Makespan != sim.Never:
	case !p.repairs && p.first.Counts.Lost > 0:
		fmt.Fprintln(t, "  never: no loss is repaired without --repair")
		return
	default:
		fmt.Fprintln(t, "  never: schedgen verify says why")
		return
	}
	fmt.Fprintln(t, "rank\tbegins\tends\tdoes\t")
	for _, s := range p.first.Path {
		does := s.Op.String()
		switch {
		case s.Op == sim.Send && s.Peer < 0:
			does = fmt.Sprintf("send %s to all", slotWords(s.Slots))
		case s.Op == sim.Send:
			does = fmt.Sprintf("send %s to %d", slotWords(s.Slots), s.Peer)
		case s.Op == sim.Fold:
			does = "fold " + slotWords(s.Slots)
		case s.Op == sim.Receive:
			does = fmt.Sprintf("receive %s from %d", slotWords(s.Slots), s.Peer)
		}
		fmt.Fprintf(t, "%d\t%s\t%s\t%s\t\n", s.Rank, micros(s.Begin), micros(s.End), does)
	}
}

// slotWords spells the slots of a message, such as "c0 c1". If there are many, it gives the first
// and their number.
func slotWords(slots []ir.Slot) string {
	const most = 8
	if len(slots) > most {
		return fmt.Sprintf("%v … (%d slots)", slots[0], len(slots))
	}
	words := make([]string, len(slots))
	for i, s := range slots {
		words[i] = s.String()
	}
	return strings.Join(words, " ")
}

// loadsTo prints the messages, bytes and busy time of each link.
func (c *simCmd) loadsTo(p *point, t *tabwriter.Writer) {
	if c.net != nil {
		c.arcsTo(p, t)
		return
	}
	fmt.Fprintln(t, "host\tmessages up\tbytes up\tbusy up\tmessages down\tbytes down\tbusy down\t")
	for host, l := range p.first.Loads {
		fmt.Fprintf(t, "%d\t%d\t%d\t%s\t%d\t%d\t%s\t\n", host, l.Up.Packets, l.Up.Bytes, micros(l.Up.Busy),
			l.Down.Packets, l.Down.Bytes, micros(l.Down.Busy))
	}
}

// arcsTo prints the arcs of the network that carried messages, the busiest first.
func (c *simCmd) arcsTo(p *point, t *tabwriter.Writer) {
	fmt.Fprintln(t, "arc\tmessages\tbytes\tbusy\tshare\t")
	for _, l := range c.arcLoads(p) {
		share := "-"
		if p.first.Makespan > 0 {
			share = fmt.Sprintf("%.1f %%", 100*float64(l.Busy)/float64(p.first.Makespan))
		}
		fmt.Fprintf(t, "%s->%s\t%d\t%d\t%s\t%s\t\n", l.From, l.To, l.Messages, l.Bytes, micros(l.Busy), share)
	}
}

func (c *simCmd) printTable(w io.Writer, points []*point) error {
	model, err := c.model()
	if err != nil {
		return err
	}
	folds := ""
	if points[0].header.Folds() {
		folds = fmt.Sprintf(", folds of %v ns a byte", sim.PerByte(c.Fold))
	}
	fmt.Fprintf(w, "%s, %s model: %v%s\n", points[0].name, c.Model, model, folds)
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', tabwriter.AlignRight)
	several := c.Runs > 1
	if several {
		fmt.Fprintln(t, "ranks\tsize\tleast\tmedian\tmean\t99 %\tmost\tnever\tmessages\tmulticasts\tlost\trepairs\t")
	} else {
		fmt.Fprintln(t, "ranks\tsize\ttime\tmessages\tmulticasts\tlost\trepairs\t")
	}
	for _, p := range points {
		size := "-"
		if p.header.HasMessage() {
			size = byteSize(p.bytes).String()
		}
		fmt.Fprintf(t, "%d\t%s\t", p.header.Ranks, size)
		if several {
			for _, q := range []sim.Time{p.quantile(0), p.quantile(0.5), p.mean(), p.quantile(0.99), p.quantile(1)} {
				fmt.Fprintf(t, "%s\t", micros(q))
			}
			fmt.Fprintf(t, "%d\t", p.never)
		} else {
			fmt.Fprintf(t, "%s\t", micros(p.first.Makespan))
		}
		n := &p.counts
		fmt.Fprintf(t, "%s\t%s\t%s\t%s\t\n", p.each(n.Sends-n.Mcasts), p.each(n.Mcasts), p.each(n.Lost), p.each(n.Repairs))
	}
	return t.Flush()
}
