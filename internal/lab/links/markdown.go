//go:build linux

package links

import (
	"bytes"
	"fmt"
	"io"

	"github.com/schedgen/schedgen/internal/lab/internal/report"
	"github.com/schedgen/schedgen/internal/lab/internal/units"
	"github.com/schedgen/schedgen/internal/words"
)

const disclosure = `Times are in seconds. A broadcast takes from the root's call until the root knows that all ranks
have the message: by the algorithm's own acknowledgements or, where it has none, by a barrier behind
it. Every other operation takes as long as the call of its slowest rank; all ranks meet at a barrier
before it. Measured is the median, least and largest of the cell's operations, behind one that is not
counted. Hosts are network namespaces of one machine (schedlab netns). A queue of 128 KiB stands before
every link, which lets 8 KiB pass at once, or what it carries in half a millisecond. Losses are those
of each receiver by itself, and hit TCP too.

Size is the length of one block, which is the whole message of a broadcast. Wire is the time that
the busiest end of a link needs, in full datagrams without heads of ours, for what must go through
it, whatever the algorithm: each block that a rank wants and does not hold comes in once, and each
block that it alone holds goes out once. That is one block for a broadcast, and all blocks but one for
an allgather. Predicted is the median of the same operations on the simulator's network
(internal/simnet), of which links are the only limit.

The last column says where the machine's cores limit a cell and not its links: the same operation
takes at least three tenths as long where links are without limit. There the prediction does not hold.
`

func (r *results) writeMarkdown(w io.Writer, about []string) error {
	var b bytes.Buffer
	report.WriteHead(&b, "Collective operations on links", about, disclosure)
	algorithm, rate := "", int64(-1)
	for _, row := range r.rows {
		if row.algorithm != algorithm || row.rate != rate {
			algorithm, rate = row.algorithm, row.rate
			fmt.Fprintf(&b, "\n## %s, %s\n\n", algorithm, units.Rate(rate))
			report.WriteTitles(&b, "size", "loss:", "hosts:", "wire:", "measured:", "min–max", "measured / wire:", "predicted:", "measured / predicted:", "")
		}
		r.writeRow(&b, row)
	}
	_, err := w.Write(b.Bytes())
	return err
}

func (r *results) writeRow(w io.Writer, of *row) {
	m, p := &of.measured, &of.predicted
	measured, spread := m.failed, "-"
	if m.good() {
		measured, spread = units.Seconds(m.median), units.Seconds(m.min)+"–"+units.Seconds(m.max)
	}
	predicted := p.failed
	if p.good() {
		predicted = units.Seconds(p.median)
	}
	limit := ""
	if r.byCores(of) {
		limit = "cores"
	}
	report.WriteCells(w, words.Size(int64(of.bytes)), units.Loss(of.perMille), of.hosts,
		units.Seconds(of.wire()), orDash(measured), spread, ratio(m.median, of.wire()), orDash(predicted), ratio(m.median, p.median), limit)
}

func orDash(text string) string {
	if text == "" {
		return "-"
	}
	return text
}
