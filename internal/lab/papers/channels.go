package papers

import (
	"bytes"
	"fmt"
	"io"

	"github.com/schedgen/schedgen/internal/chart"
	"github.com/schedgen/schedgen/internal/model/papers"
)

// The measures of a picture of channels, in pixels.
const (
	channelStep   = 90 // between two nodes
	channelRow    = 44 // between two levels
	channelNode   = 34 // width of a node
	channelMargin = 70
)

// drawChannels draws the nodes of a figure in a row, each as high as its highest level. Each level
// has a row of channels, above the row of the level below. A channel that leads back goes around
// below the nodes. The channels that a message takes are drawn over the others.
func drawChannels(w io.Writer, f *papers.Figure) error {
	var levels, taken []papers.Series
	for i := range f.Series {
		if f.Series[i].Kind == papers.Model {
			levels = append(levels, f.Series[i])
		} else {
			taken = append(taken, f.Series[i])
		}
	}
	high := map[int]int{} // a node's highest level
	last := 0
	for level := range levels {
		for _, at := range levels[level].Points {
			high[int(at.X)] = max(high[int(at.X)], level)
			high[int(at.Y)] = max(high[int(at.Y)], level)
			last = max(last, int(at.X), int(at.Y))
		}
	}
	base := channelMargin + channelRow*len(levels) // where the nodes stand
	row := func(level int) int { return base - channelRow*level - channelRow/2 }
	x := func(node int) int { return channelMargin + channelStep*node }
	width := x(last) + channelMargin + 12*len(levels)
	height := base + 30 + 14*len(levels)

	return chart.WriteSVG(w, float64(width), float64(height), 13, func(b *bytes.Buffer) {
		for _, color := range []string{channelColor, takenColor} {
			fmt.Fprintf(b, `<marker id="a%s" viewBox="0 0 8 8" refX="8" refY="4" markerWidth="7" markerHeight="7" orient="auto"><path d="M0 0L8 4L0 8z" fill="%s"/></marker>`+"\n", color[1:], color)
		}
		fmt.Fprintf(b, `<text x="%d" y="28" font-size="15">%s</text>`+"\n", channelMargin-channelNode/2, chart.Escape(f.ID+"  "+f.Title))
		for level := range levels {
			fmt.Fprintf(b, `<text x="8" y="%d" font-size="12" fill="#555">%s</text>`+"\n", row(level)+4, chart.Escape(levels[level].Name))
		}
		for level := range levels {
			for _, at := range levels[level].Points {
				channel(b, x(int(at.X)), x(int(at.Y)), row(level), level, base, x(last), channelColor, 1.4)
			}
		}
		for level := range taken {
			for _, at := range taken[level].Points {
				channel(b, x(int(at.X)), x(int(at.Y)), row(level), level, base, x(last), takenColor, 2.6)
			}
		}
		for node := range last + 1 {
			top := row(high[node]) - channelRow/2 + 7
			fmt.Fprintf(b, `<rect x="%d" y="%d" width="%d" height="%d" rx="5" fill="#eef4fb" stroke="#0072b2"/>`+"\n", x(node)-channelNode/2, top, channelNode, base-top)
			fmt.Fprintf(b, `<text x="%d" y="%d" font-size="14" text-anchor="middle">%d</text>`+"\n", x(node), base-channelRow/2+5, node)
		}
	})
}

const (
	channelColor = "#777777"
	takenColor   = "#d55e00"
)

// channel draws an arrow from the node at x coordinate from to the node at x coordinate to, in the
// row of a level. An arrow that leads back runs to the right of all nodes, below them and up to its
// node.
func channel(b *bytes.Buffer, from, to, y, level, base, last int, color string, stroke float64) {
	const half = channelNode / 2
	path := fmt.Sprintf("M%d %dH%d", from+half, y, to-half)
	if to <= from {
		around := last + half + 16 + 12*level
		below := base + 16 + 14*level
		path = fmt.Sprintf("M%d %dH%dV%dH%dV%d", from+half, y, around, below, to-8+8*level, base)
	}
	fmt.Fprintf(b, `<path d="%s" fill="none" stroke="%s" stroke-width="%g" stroke-linejoin="round" marker-end="url(#a%s)"/>`+"\n", path, color, stroke, color[1:])
}
