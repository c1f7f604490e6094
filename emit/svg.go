package emit

import (
	"fmt"
	"io"
	"strings"

	"github.com/schedgen/schedgen/ir"
)

// A picture of all ranks that exceeds these bounds sums up rounds.
const (
	maxSVGRanks = 128
	maxSVGWidth = 8000 // pixels
	maxSVGEdges = 8192
)

// writeSVG prints s as a space-time diagram of the run without losses: a lane for each rank, and
// rounds to the right. If that would be unreadable, it shows an extract, and the picture says what
// is left out. The picture needs neither scripts nor fonts and follows the reader's choice of a
// light or dark background.
func writeSVG(w io.Writer, s *ir.Schedule, o Options) error {
	if err := o.Extract.check(s.Ranks); err != nil {
		return err
	}
	t, err := trace(s, false)
	if err != nil {
		return err
	}
	_, err = io.WriteString(w, picture(t, o.Extract))
	return err
}

func picture(t *run, x Extract) string {
	if x.kind == sums {
		return summaryPicture(t, "")
	}
	if x.kind == everybody && len(t.Programs) > maxSVGRanks {
		return summaryPicture(t, fmt.Sprintf("%s are too many for a lane each", count(len(t.Programs), "rank")))
	}
	rounds := wholeRounds
	if x.kind == everybody {
		rounds = t.last
	}
	sc := t.scene(t.pick(x, wholeRanks), rounds)
	p := newPlan(sc)
	switch n := p.edges(); {
	case n > maxSVGEdges:
		return summaryPicture(t, fmt.Sprintf("%s are too many to draw", count(n, "arrow")))
	case p.right() > maxSVGWidth:
		return summaryPicture(t, fmt.Sprintf("%s are too many to draw", count(t.last, "round")))
	}
	return lanesPicture(p)
}

// lanesPicture returns the picture of a run with a lane for each rank of the plan.
func lanesPicture(p *plan) string {
	c := newCanvas(p.scene.run, max(p.right()+svgMargin, minSVGWidth))
	c.note = p.scene.note
	p.top = c.header() + bandHeader
	c.grid(p)
	c.lanes(p)
	for i := range p.columns {
		for j := range p.columns[i].bands {
			c.band(p, &p.columns[i].bands[j])
		}
	}
	c.foldMarks(p)
	c.doneMarks(p)
	return c.finish(c.results(c.legend(p, p.lane(len(p.scene.ranks)-1)+p.pitch)))
}

// edges counts the arrows that are drawn.
func (p *plan) edges() int {
	n := 0
	for _, col := range p.columns {
		for _, b := range col.bands {
			for _, s := range b.stars {
				n += len(s.leaves)
			}
		}
	}
	return n
}

// describe describes the picture in words, for readers who cannot see it.
func describe(t *run, note string) string {
	never := t.neverReturns()
	text := fmt.Sprintf("Space-time diagram of %s: %s; %s.", t.Name(), headerFacts(&t.Header), totals(t))
	if never == len(t.returns) {
		return strings.TrimSpace(text + " No call ever returns. " + note)
	}
	text += fmt.Sprintf(" The last call returns after round %d.", t.rounds)
	if never > 0 {
		text += fmt.Sprintf(" Calls that never return: %d.", never)
	}
	if idle := t.notNeeded(); idle != "" {
		text += " Only if something is lost: " + idle + "."
	}
	return strings.TrimSpace(text + " " + note)
}
