package compare

import (
	"bytes"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/schedgen/schedgen/internal/lab/internal/report"
	"github.com/schedgen/schedgen/internal/transport/pace"
	"github.com/schedgen/schedgen/schedule/selection"
)

// near is the ratio up to which the library's default choice counts as about as good as the best
// algorithm.
const near = 1.10

// standard is the library's default choice in a cell over a transport.
type standard struct {
	cell
	transport string
	row       *row // nil if the choice was not measured
	best      *row // the best of all algorithms over that transport
	ratio     float64
}

// standardName returns the name of the contender that the library chooses over a transport. All
// contenders have the same replies of bcast_ack and the same barrier of bcast_barrier.
func standardName(c cell, transport string) string {
	g := selection.Ground{Ranks: c.ranks, OneHost: true, Multicast: transport != "tcp", Lends: transport == "shm"}
	g.Pace, _, _ = pace.Here() // with an error, that of a typical machine: no segment can be made
	of := g.Case()
	of.Collective, of.Bytes = collective(c.op), c.bytes
	d, _ := selection.Builtin().Of(of) // every collective has a rule
	return contenderName(transport, choice{d.Rule.Algorithm, flagsOf(&d.Rule.Params)})
}

// flagsOf returns the flags of schedgen bench for the fans and the degree of a rule.
func flagsOf(p *selection.Params) (flags []string) {
	for _, f := range []struct {
		name string
		n    int
	}{{"--fan-in", p.FanIn}, {"--fan-out", p.FanOut}, {"--degree", p.Degree}} {
		if f.n > 0 {
			flags = append(flags, f.name, strconv.Itoa(f.n))
		}
	}
	return flags
}

// contenderName returns the name of the contender for one of schedgen's algorithms with its flags.
func contenderName(transport string, c choice) string {
	name := transport + " " + c.algorithm
	if len(c.flags) > 0 {
		name += " " + strings.ReplaceAll(strings.Join(c.flags, " "), "--", "")
	}
	return name
}

// standards returns the default choices in all cells, over each transport.
func (r *results) standards() (out []standard) {
	for _, v := range r.verdicts() {
		var rows []row
		for _, o := range r.rows {
			if o.cell == v.cell && o.side == ours && !isTwin(o.cell, choice{algorithm: withoutTransport(&o)}) { // older results have rows of algorithms that do the same
				rows = append(rows, o)
			}
		}
		for _, transport := range standardTransports(v.cell) {
			of := slices.DeleteFunc(slices.Clone(rows), func(o row) bool { return o.transport() != transport })
			if s := standardOf(v.cell, transport, of); s.best != nil {
				out = append(out, s)
			}
		}
	}
	return out
}

// standardTransports returns the transports over which the default choice is compared. The choice
// for barriers and for blocks also goes over TCP with multicast.
func standardTransports(c cell) []string {
	if (c.op == opBarrier || movesBlocks(c.op) || folds(c.op)) && c.wire == wireTCP {
		return []string{"tcp"}
	}
	return transports(c.wire)
}

// standardOf compares the default choice with the algorithms over a transport in a cell, by the
// rounds that both have. An algorithm that was dropped after the first round has one.
func standardOf(c cell, transport string, rows []row) standard {
	s := standard{cell: c, transport: transport, best: best(rows, ours)}
	at := slices.IndexFunc(rows, func(o row) bool { return o.contender == standardName(c, transport) && len(o.runs) > 0 })
	if at < 0 || s.best == nil {
		return s
	}
	s.row = &rows[at]
	n := min(len(s.row.runs), len(s.best.runs))
	s.ratio = median(s.row.means()[:n]) / median(s.best.means()[:n])
	return s
}

// isNear reports whether the library's choice is about as good as the best.
func (s *standard) isNear() bool { return s.row != nil && s.ratio < near+0.005 } // compare the rounded value, as it is printed

// standardTable writes a table that compares, in each cell, the library's default choice with the
// best algorithm.
func (r *results) standardTable(b *bytes.Buffer) {
	all := r.standards()
	if len(all) == 0 {
		return
	}
	good := 0
	for i := range all {
		if all[i].isNear() {
			good++
		}
	}
	fmt.Fprintf(b, "\n## What the library chooses\n\nIts own choice by the best of our algorithms over the same transport, in the rounds that both were in; "+
		"in %d of %d cells (%.0f %%) within %.0f %%:\n\n",
		good, len(all), 100*float64(good)/float64(len(all)), 100*(near-1))
	report.WriteTitles(b, "", "P", "transport", "choice", "µs", "best", "µs", "ratio")
	for _, s := range all {
		choice, took := s.choiceAndTime()
		report.WriteCells(b, opAndSize(s.cell), s.ranks, s.transport, choice, took, withoutTransport(s.best), digits(s.best.mean()), s.ratioByNear())
	}
}

// choiceAndTime returns the choice and its time.
func (s *standard) choiceAndTime() (choice, took string) {
	if s.row == nil {
		_, name, _ := strings.Cut(standardName(s.cell, s.transport), " ")
		return name, "not measured"
	}
	return withoutTransport(s.row), digits(s.row.mean())
}

// ratioByNear returns the ratio, in bold if the choice is not near the best.
func (s *standard) ratioByNear() string {
	switch {
	case s.row == nil:
		return "-"
	case !s.isNear():
		return fmt.Sprintf("**%.2f**", s.ratio)
	}
	return ratio(s.ratio)
}

// withoutTransport returns the name of a contender without its transport.
func withoutTransport(r *row) string {
	_, name, _ := strings.Cut(r.contender, " ")
	return name
}
