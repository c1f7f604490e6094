package emit

import (
	"fmt"
	"io"

	"github.com/schedgen/schedgen/ir"
)

// A picture with more than these has no lane for each rank but sums rounds up.
const (
	maxSVGRanks = 64
	maxSVGWidth = 4000 // pixels
	maxSVGEdges = 8192
)

// writeSVG prints s as a space-time diagram: a lane for each rank, time to the
// right in rounds, as if nothing were lost. One that does not fit is summed up
// round by round, and the picture says so. It needs neither scripts nor fonts
// and follows the reader's choice of a light or dark background.
func writeSVG(w io.Writer, s *ir.Schedule) error {
	t, err := trace(s, false)
	if err != nil {
		return err
	}
	_, err = io.WriteString(w, picture(t))
	return err
}

func picture(t *run) string {
	if reason := tooLarge(t); reason != "" {
		return summaryPicture(t, reason)
	}
	p := newPlan(t)
	if p.right() > maxSVGWidth {
		return summaryPicture(t, fmt.Sprintf("%s are too many to draw", count(t.last, "round")))
	}
	c := newCanvas(t, max(p.right()+svgMargin, minSVGWidth))
	p.top = c.header() + bandHeader
	c.grid(p)
	c.lanes(p)
	for i := range p.columns {
		for j := range p.columns[i].bands {
			c.band(p, &p.columns[i].bands[j])
		}
	}
	c.doneMarks(p)
	return c.finish(c.legend(t, p, p.lane(len(t.Programs)-1)+p.pitch))
}

// tooLarge returns why the run cannot have a lane for each rank, or "".
func tooLarge(t *run) string {
	if n := len(t.Programs); n > maxSVGRanks {
		return fmt.Sprintf("%s are too many for a lane each", count(n, "rank"))
	}
	drawn := 0
	for _, round := range starsByRound(t) {
		for _, s := range round {
			drawn += len(s.leaves)
		}
	}
	if drawn > maxSVGEdges {
		return fmt.Sprintf("%d arrows are too many to draw", drawn)
	}
	return ""
}

// describe tells the picture in words, for those who do not see it.
func describe(t *run) string {
	never := t.neverReturns()
	text := fmt.Sprintf("Space-time diagram of %s: %s; %s.", t.Name(), headerFacts(&t.Header), totals(t))
	if never == len(t.done) {
		return text + " No call ever returns."
	}
	text += fmt.Sprintf(" The last call returns after round %d.", t.rounds)
	if never > 0 {
		text += fmt.Sprintf(" Calls that never return: %d.", never)
	}
	if idle := t.notNeeded(); idle != "" {
		text += " Only if something is lost: " + idle + "."
	}
	return text
}
