package main

import (
	"bytes"
	"fmt"
	"io"
	"math"
	"slices"
	"strings"

	"github.com/schedgen/schedgen/bench/internal/tool"
)

// disclosure describes the comparison and the settings of the peers.
const disclosure = `Times are in µs. A time is, of one operation, the longest of a rank from its call to its return
(bcast_ack: the root's, until it has the replies of all); a measurement takes the mean, and the
median, over its iterations; a figure here is the median over rounds of the mean, with the least and
the largest. Ratio: our best algorithm by the best peer, below 1 is in our favour. All ranks are
processes of one machine; operations are separated by a barrier that is not timed.

- tcp: TCP on the loopback interface; ours may multicast on it, too. shm: shared memory.
- Open MPI: ob1 over btl tcp or vader, not bound, with --oversubscribe, which makes it yield; from
  32 KiB on also with its pipelined broadcast in segments of 16 KiB ("openmpi pipeline").
- MPICH: ch4:ucx, over UCX's tcp or MPICH's own shared memory. It does not yield by itself where there
  are more ranks than cores, which costs it whole time slices: there it runs with a shim that yields
  in every poll that finds nothing ("mpich yield", bench/mpi/yield.c), elsewhere both ways.
- Sizes of scatter, gather, allgather and alltoall are those of a block: what goes from one rank to
  one other rank. Root is rank 0.
- Replies of bcast_ack: peers send one byte each to the root, which has posted its receives before it
  is timed; ours are acknowledgements of the algorithm, or check-ins at the root of barrier/hsb, where
  the root's time includes releasing the others.
`

func (r *results) writeMarkdown(w io.Writer, name string) error {
	var b bytes.Buffer
	tool.WriteHead(&b, "schedgen beside MPI: "+name, r.about, disclosure)
	all := r.verdicts()
	for _, wire := range []string{wireTCP, wireShm} {
		of := slices.DeleteFunc(slices.Clone(all), func(v verdict) bool { return v.wire != wire })
		if len(of) > 0 {
			fmt.Fprintf(&b, "\n## %s\n\n", wire)
			ratioTable(&b, of)
			detailTable(&b, of)
		}
	}
	r.standardTable(&b)
	r.wireTable(&b)
	r.failures(&b)
	r.limitTable(&b)
	_, err := w.Write(b.Bytes())
	return err
}

// ratioTable has a line for each operation and size, a column for each number
// of ranks.
func ratioTable(b *bytes.Buffer, all []verdict) {
	var ranks []int
	for _, v := range all {
		ranks = append(ranks, v.ranks)
	}
	slices.Sort(ranks)
	ranks = slices.Compact(ranks)
	fmt.Fprint(b, "Ratios; in bold with the goal where that is missed:\n\n| |")
	for _, p := range ranks {
		fmt.Fprintf(b, " P=%d |", p)
	}
	fmt.Fprintf(b, "\n|---|%s\n", strings.Repeat("---|", len(ranks)))
	for i, v := range all {
		if i > 0 && all[i-1].op == v.op && all[i-1].bytes == v.bytes {
			continue
		}
		fmt.Fprintf(b, "| %s |", opAndSize(v.cell))
		for _, p := range ranks {
			at := slices.IndexFunc(all, func(o verdict) bool { return o.op == v.op && o.bytes == v.bytes && o.ranks == p })
			if at < 0 || math.IsNaN(all[at].ratio) {
				fmt.Fprint(b, " - |")
			} else {
				fmt.Fprintf(b, " %s |", ratioByGoal(&all[at]))
			}
		}
		fmt.Fprintln(b)
	}
}

// ratioByGoal returns the ratio of a cell, with the goal if it is missed.
func ratioByGoal(v *verdict) string {
	if v.missed() {
		return fmt.Sprintf("**%.2f** > %.1f", v.ratio, goal(v.cell))
	}
	return fmt.Sprintf("%.2f", v.ratio)
}

// opAndSize returns the operation with its size.
func opAndSize(c cell) string {
	if c.op == opBarrier {
		return c.op
	}
	return c.op + " " + size(c.bytes)
}

func detailTable(b *bytes.Buffer, all []verdict) {
	fmt.Fprint(b, "\n| | P | ours | min–max | algorithm | best peer | min–max | which | ratio | by round | of medians |\n")
	fmt.Fprint(b, "|---|---|---|---|---|---|---|---|---|---|---|\n")
	for _, v := range all {
		fmt.Fprintf(b, "| %s | %d | %s | %s | %s | %s–%s | %s |\n", opAndSize(v.cell), v.ranks, times(v.ours), times(v.peer),
			ratio(v.ratio), ratio(v.lo), ratio(v.hi), ratio(v.medians))
	}
}

func ratio(x float64) string {
	if math.IsNaN(x) {
		return "-"
	}
	return fmt.Sprintf("%.2f", x)
}

// times returns three columns of a row.
func times(r *row) string {
	if r == nil {
		return "- | - | -"
	}
	return fmt.Sprintf("%s | %s–%s | %s", digits(r.mean()), digits(slices.Min(r.means())), digits(slices.Max(r.means())), r.contender)
}

// failures lists the contenders that could not be measured, or not in all rounds. Contenders with
// the same reason share a line.
func (r *results) failures(b *bytes.Buffer) {
	count := map[string]int{}
	var firsts []row
	for _, row := range r.rows {
		if count[row.status]++; row.status != "" && count[row.status] == 1 {
			firsts = append(firsts, row)
		}
	}
	if len(firsts) > 0 {
		fmt.Fprint(b, "\n## Failed\n\n")
	}
	for _, f := range firsts {
		fmt.Fprintf(b, "- %s: %d times, first %v, %s, after %d good runs\n", f.status, count[f.status], f.cell, f.contender, len(f.runs))
	}
}

// limitTable writes the table of the raw limits.
func (r *results) limitTable(b *bytes.Buffer) {
	title := "\n## Limits, without any library, in Go\n\n| | mean | min–max | median |\n|---|---|---|---|\n"
	for _, row := range r.rows {
		if row.side == raw && len(row.runs) > 0 {
			name := row.contender
			if row.bytes >= 1<<20 { // bytes per µs are a thousandth of GB/s
				name += fmt.Sprintf(" (%s GB/s)", digits(float64(row.bytes)/row.mean()/1e3))
			}
			fmt.Fprintf(b, "%s| %s | %s | %s–%s | %s |\n", title, name, digits(row.mean()),
				digits(slices.Min(row.means())), digits(slices.Max(row.means())), digits(row.middle()))
			title = ""
		}
	}
}
