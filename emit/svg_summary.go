package emit

import (
	"fmt"
	"strings"
)

// Pixels of a summary.
const (
	barColumn  = 250 // where bars begin
	barLength  = 330 // of the longest bar
	summaryRow = 20
)

// summaryPicture returns the picture of a run without lanes. Every round and class has a bar as
// long as its number of transfers.
func summaryPicture(t *run, reason string) string {
	c := newCanvas(t, svgMargin+barColumn+barLength+60+svgMargin)
	y := c.header()
	what := "Bars count the transfers of each round"
	if reason != "" {
		what = reason + ", so b" + what[1:]
	}
	for _, line := range c.wrapped(what) {
		c.text("n", svgMargin, y+6, line)
		y += summaryRow
	}
	spans := runsOfRounds(tallies(t))
	most := largest(spans)
	left := 0
	y += 8
	for i := range spans {
		if i >= maxSummary {
			left += spans[i].last - spans[i].first + 1
			continue
		}
		y = c.spanBars(&spans[i], y, most)
	}
	if left > 0 {
		y += summaryRow
		c.text("n", svgMargin, y, "… and "+count(left, "more round"))
	}
	for _, r := range returnSummary(t, 90) {
		y += summaryRow
		c.text("n", svgMargin, y+8, strings.TrimSpace(r.render(false)))
	}
	return c.finish(y + 2*svgMargin)
}

func largest(spans []span) int {
	most := 1
	for _, g := range spans {
		for _, ta := range g.tallies {
			most = max(most, ta.count)
		}
	}
	return most
}

// spanBars draws the bars of rounds that are alike. It returns the height of the last.
func (c *canvas) spanBars(g *span, y float64, most int) float64 {
	for i := range g.tallies {
		ta := &g.tallies[i]
		y += summaryRow
		if i == 0 {
			c.text("b", svgMargin, y+4, g.title())
		}
		c.text(looks[ta.class].id, svgMargin+95, y+4, ta.what())
		length := max(2, float64(ta.count)/float64(most)*barLength)
		c.path(looks[ta.class].id+" full dash0", fmt.Sprintf("M%s %sh%sv8h-%sz", num(svgMargin+barColumn), num(y-4), num(length), num(length)))
		c.text("n", svgMargin+barColumn+length+8, y+4, number(ta.count))
	}
	return y
}

func (g *span) title() string {
	if g.first == g.last {
		return "round " + g.name()
	}
	return "rounds " + g.name()
}

// what describes what moves and how far: "put c0, +1".
func (t *tally) what() string {
	text := classWord[t.class] + " " + slotList(t.slots)
	if t.class == mcast {
		return text + ", to all"
	}
	return text + ", " + distanceList(t.distances) + t.bundled()
}
