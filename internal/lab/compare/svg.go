package compare

import (
	"io"

	"github.com/schedgen/schedgen/internal/chart"
)

// The picture is a grid of panels, one for each wire, operation and size. A panel shows the times of
// schedgen and of the best peer over the number of ranks, with a line from the least to the largest
// run.
const (
	panelWidth, panelHeight = 230.0, 170.0
	panelsInRow             = 4
)

func (r *results) writeSVG(w io.Writer) error {
	return chart.Panels(w, "µs by number of ranks:", panelsInRow, panelWidth, panelHeight, panelsOf(r.verdicts()))
}

// panelsOf returns a chart for each operation of one size over one wire.
func panelsOf(all []verdict) (out []chart.Chart) {
	var last cell
	for _, v := range all {
		key := cell{wire: v.wire, op: v.op, bytes: v.bytes}
		if len(out) == 0 || key != last {
			out = append(out, chart.Chart{Title: v.wire + ", " + opAndSize(v.cell), LogX: true, LogY: true, Lines: []chart.Line{
				{Name: "our best algorithm", Color: 0}, {Name: "best peer", Color: 1},
			}})
			last = key
		}
		c := &out[len(out)-1]
		c.At = append(c.At, float64(v.ranks))
		for i, row := range []*row{v.ours, v.peer} {
			if row != nil {
				least, most := row.bounds()
				c.Lines[i].At = append(c.Lines[i].At, chart.Point{X: float64(v.ranks), Y: row.mean()})
				c.Lines[i].Spread = append(c.Lines[i].Spread, chart.Spread{Least: least, Most: most})
			}
		}
	}
	return out
}
