package compare

import (
	"bytes"
	"fmt"
	"slices"

	"github.com/schedgen/schedgen/internal/lab/internal/report"
	"github.com/schedgen/schedgen/ir"
	"github.com/schedgen/schedgen/schedule"
	"github.com/schedgen/schedgen/verify"
)

// loads are the numbers of blocks that the links of a collective carry, and the least numbers for
// any algorithm.
type loads struct {
	messages          int
	sent              float64 // blocks sent by all ranks; a multicast counts once
	out, in           float64 // blocks sent by the busiest rank, and received by the busiest rank
	leastOut, leastIn int     // least values of out and in: blocks that a rank holds and others want, and blocks that it wants and lacks
}

// loadsOf returns the loads of an algorithm among the given number of ranks, with one chunk a
// block. The loads come from the cost of the schedule, the least loads from the row of the
// collective.
func loadsOf(algorithm string, ranks int) (l loads, err error) {
	spec, err := schedule.New(algorithm, schedule.Params{Ranks: ranks})
	if err != nil {
		return l, err
	}
	s := spec.Schedule()
	cost, each, err := verify.CostByRank(s)
	if err != nil {
		return l, err
	}
	l.messages, l.sent = cost.Messages, cost.Bytes
	for rank := range each {
		l.out, l.in = max(l.out, each[rank].BytesOut), max(l.in, each[rank].BytesIn)
	}
	l.leastOut, l.leastIn = least(&s.Header)
	return l, nil
}

// least returns the least numbers of blocks that leave and reach the busiest rank, for any
// algorithm. A block that several ranks want must leave its holder only once.
func least(h *ir.Header) (out, in int) {
	wanted := make([]int, h.Blocks()) // number of ranks that want each block and do not hold it
	for rank := range h.Ranks {
		held, want := h.Held(rank), h.Wanted(rank)
		missing := 0
		for i := range want.Count {
			if block := want.At(i); held.Index(block) < 0 {
				wanted[block]++
				missing++
			}
		}
		in = max(in, missing)
	}
	for rank := range h.Ranks {
		held := h.Held(rank)
		leaves := 0
		for i := range held.Count {
			if wanted[held.At(i)] > 0 {
				leaves++
			}
		}
		out = max(out, leaves)
	}
	return out, in
}

// wireTable writes a table with the loads of each measured algorithm of a collective with many
// blocks, and their least values.
func (r *results) wireTable(b *bytes.Buffer) {
	type key struct {
		algorithm string
		ranks     int
	}
	var keys []key
	for i := range r.rows {
		row := &r.rows[i]
		if k := (key{withoutTransport(row), row.ranks}); row.side == ours && movesBlocks(row.op) && !slices.Contains(keys, k) {
			keys = append(keys, k)
		}
	}
	if len(keys) == 0 {
		return
	}
	fmt.Fprint(b, "\n## Blocks on the wire\n\nMessages and blocks that all ranks send, and blocks that the busiest rank sends and takes in, with the "+
		"least by any algorithm:\nits own that others want, and those that it wants and has not. The last column is the busiest link by the busier bound.\n\n")
	report.WriteTitles(b, "", "P", "messages", "blocks", "sent", "at least", "taken in", "at least", "by the bound")
	for _, k := range keys {
		l, err := loadsOf(k.algorithm, k.ranks)
		if err != nil {
			report.WriteCells(b, k.algorithm, k.ranks, err, "", "", "", "", "", "")
			continue
		}
		byBound := max(l.out, l.in) / float64(max(l.leastOut, l.leastIn)) // of the busiest link
		report.WriteCells(b, k.algorithm, k.ranks, l.messages, report.Float(l.sent, 0), report.Float(l.out, 0), l.leastOut,
			report.Float(l.in, 0), l.leastIn, report.Float(byBound, 2))
	}
}
