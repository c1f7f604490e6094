package compare

import (
	"bytes"
	"fmt"
	"io"
	"math"
	"slices"

	"github.com/schedgen/schedgen/internal/lab/internal/report"
	"github.com/schedgen/schedgen/internal/words"
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
  in every poll that finds nothing ("mpich yield", internal/lab/mpi/yield.c), elsewhere both ways.
- Sizes of scatter, gather, allgather and alltoall are those of a block: what goes from one rank to
  one other rank. Root is rank 0.
- Replies of bcast_ack: peers send one byte each to the root, which has posted its receives before it
  is timed; ours are acknowledgements of the algorithm, or check-ins at the root of barrier/hsb, where
  the root's time includes releasing the others.
`

func (r *results) writeMarkdown(w io.Writer, name string) error {
	var b bytes.Buffer
	report.WriteHead(&b, "schedgen beside MPI: "+name, r.about, disclosure)
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
	titles := []string{""}
	for _, p := range ranks {
		titles = append(titles, fmt.Sprintf("P=%d", p))
	}
	fmt.Fprint(b, "Ratios; in bold with the goal where that is missed:\n\n")
	report.WriteTitles(b, titles...)
	for i, v := range all {
		if i > 0 && all[i-1].op == v.op && all[i-1].bytes == v.bytes {
			continue
		}
		cells := []any{opAndSize(v.cell)}
		for _, p := range ranks {
			at := slices.IndexFunc(all, func(o verdict) bool { return o.op == v.op && o.bytes == v.bytes && o.ranks == p })
			if at < 0 || math.IsNaN(all[at].ratio) {
				cells = append(cells, "-")
			} else {
				cells = append(cells, ratioByGoal(&all[at]))
			}
		}
		report.WriteCells(b, cells...)
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
	return c.op + " " + words.Size(int64(c.bytes))
}

func detailTable(b *bytes.Buffer, all []verdict) {
	fmt.Fprintln(b)
	report.WriteTitles(b, "", "P", "ours", "min–max", "algorithm", "best peer", "min–max", "which", "ratio", "by round", "of medians")
	for _, v := range all {
		cells := slices.Concat([]any{opAndSize(v.cell), v.ranks}, times(v.ours), times(v.peer),
			[]any{ratio(v.ratio), ratio(v.lo) + "–" + ratio(v.hi), ratio(v.medians)})
		report.WriteCells(b, cells...)
	}
}

func ratio(x float64) string {
	if math.IsNaN(x) {
		return "-"
	}
	return fmt.Sprintf("%.2f", x)
}

// times returns three cells: the mean of a row, its range, and the contender.
func times(r *row) []any {
	if r == nil {
		return []any{"-", "-", "-"}
	}
	return []any{digits(r.mean()), r.span(), r.contender}
}

// span returns the least and the largest mean of a round.
func (r *row) span() string {
	return digits(slices.Min(r.means())) + "–" + digits(slices.Max(r.means()))
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
	first := true
	for _, row := range r.rows {
		if row.side == raw && len(row.runs) > 0 {
			name := row.contender
			if row.bytes >= 1<<20 { // bytes per µs are a thousandth of GB/s
				name += fmt.Sprintf(" (%s GB/s)", digits(float64(row.bytes)/row.mean()/1e3))
			}
			if first {
				first = false
				fmt.Fprint(b, "\n## Limits, without any library, in Go\n\n")
				report.WriteTitles(b, "", "mean", "min–max", "median")
			}
			report.WriteCells(b, name, digits(row.mean()), row.span(), digits(row.middle()))
		}
	}
}
