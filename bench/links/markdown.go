//go:build linux

package main

import (
	"bytes"
	"fmt"
	"io"

	"github.com/schedgen/schedgen/bench/internal/units"
)

const disclosure = `Times are in seconds, from the root's call until it knows that all ranks have the message: by the
algorithm's own acknowledgements or, where it has none, by a barrier behind it. Measured is the
median, least and largest of the cell's broadcasts, behind one that is not counted; hosts are network
namespaces of one machine (bench/netns), with queues of 128 KiB before every link, which lets 8 KiB
pass at once, or what it carries in half a millisecond, and losses for each receiver by itself, those of
TCP too. Wire is one copy of the message on one link in full datagrams without heads of ours. Predicted
is the median of the same broadcasts on the simulator's network (runtime/sim), of which links are the
only limit.

The last column says where the machine's cores limit a cell and not its links: the same broadcast
takes at least three tenths as long where links are without limit. There the prediction does not hold.
`

func (r *report) writeMarkdown(w io.Writer, about []string) error {
	var b bytes.Buffer
	fmt.Fprint(&b, "# Broadcasts on links\n\n")
	for _, line := range about {
		fmt.Fprintf(&b, "- %s\n", line)
	}
	fmt.Fprintf(&b, "\n%s", disclosure)
	algorithm, rate := "", int64(-1)
	for _, row := range r.rows {
		if row.algorithm != algorithm || row.rate != rate {
			algorithm, rate = row.algorithm, row.rate
			head(&b, row)
		}
		r.line(&b, row)
	}
	_, err := w.Write(b.Bytes())
	return err
}

func head(w io.Writer, of *row) {
	fmt.Fprintf(w, "\n## %s, %s\n\n", of.algorithm, units.Rate(of.rate))
	fmt.Fprint(w, "| size | loss | hosts | wire | measured | min–max | measured / wire | predicted | measured / predicted | |\n")
	fmt.Fprint(w, "|---|--:|--:|--:|--:|---|--:|--:|--:|---|\n")
}

func (r *report) line(w io.Writer, of *row) {
	m, p := &of.measured, &of.predicted
	measured, spread := m.failed, "-"
	if m.good() {
		measured, spread = seconds(m.median), seconds(m.min)+"–"+seconds(m.max)
	}
	predicted := p.failed
	if p.good() {
		predicted = seconds(p.median)
	}
	limit := ""
	if r.byCores(of) {
		limit = "cores"
	}
	fmt.Fprintf(w, "| %s | %s | %d | %s | %s | %s | %s | %s | %s | %s |\n", units.Size(of.bytes), units.Loss(of.perMille), of.hosts,
		seconds(of.wire()), orDash(measured), spread, ratio(m.median, of.wire()), orDash(predicted), ratio(m.median, p.median), limit)
}

func orDash(text string) string {
	if text == "" {
		return "-"
	}
	return text
}
