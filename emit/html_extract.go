package emit

import (
	"fmt"

	"github.com/schedgen/schedgen/ir"
)

// maxPageArrows is the maximum number of arrows of a page. So many take about a hundred megabytes
// in a browser.
const maxPageArrows = 1 << 18

// pageExtract is the ranks that the page shows at first, in the form that its script reads.
type pageExtract struct {
	Ranks []int `json:"ranks"` // empty: all
	// Hub limits the arrows to what this rank sends or gets. -1 means everything between the ranks.
	Hub int    `json:"hub"`
	Why string `json:"why"`
}

// pageExtracts chooses the ranks to show of each schedule.
func pageExtracts(all []*ir.Schedule, x Extract) ([]pageExtract, error) {
	out := make([]pageExtract, 0, len(all))
	for _, s := range all {
		t, err := trace(s, false)
		if err != nil {
			return nil, err
		}
		if err := fitsPage(t, x); err != nil {
			return nil, err
		}
		p := t.pick(x, wholeRanks)
		if len(p.ranks) == s.Ranks && p.hub < 0 {
			p.ranks = []int{}
		}
		out = append(out, pageExtract{p.ranks, p.hub, p.why})
	}
	return out, nil
}

// fitsPage returns the reason why a page cannot show a run, or nil.
func fitsPage(t *run, x Extract) error {
	ranks := len(t.Programs)
	arrows := t.multicasts*(ranks-1) + t.puts
	switch {
	case x.kind == sums:
		return &Unfit{"a page has lanes: it shows no sums"}
	case x.kind == everybody && ranks > maxSVGRanks:
		return &Unfit{fmt.Sprintf("%s are too many for a lane each, at most %d", count(ranks, "rank"), maxSVGRanks)}
	case arrows > maxPageArrows:
		return &Unfit{fmt.Sprintf("%s are more than a browser takes, at most %s; svg has no such bound", count(arrows, "arrow"), number(maxPageArrows))}
	}
	return nil
}
