package emit

import (
	"cmp"
	"fmt"
	"slices"
)

// spareSpace is the number of pixels before a column of transfers that only happen if something is
// lost. maxWaits is the maximum number of timeouts that have bands of their own.
const (
	spareSpace = 14
	maxWaits   = 4
)

// onlyIfLost reports whether the class is part of a repair.
func (c class) onlyIfLost() bool { return c >= repair }

// addSpare adds the columns of transfers that only happen if something is lost: repairs by how long
// they wait, requests, and answers.
func (p *plan) addSpare() {
	var lost, answers column
	for _, group := range spareGroups(p.scene.spare) {
		to := &lost
		if group[0].class == answer {
			to = &answers
		}
		to.bands = append(to.bands, p.spareBand(group))
	}
	p.addColumn("if lost", lost)
	p.addColumn("answers", answers)
}

// addColumn places a column with its bands at the right, unless it is empty.
func (p *plan) addColumn(title string, col column) {
	if len(col.bands) == 0 {
		return
	}
	last := &col.bands[len(col.bands)-1]
	col.title, col.x = title, p.right()+spareSpace
	for i := range col.bands {
		col.bands[i].x = col.x + col.width
		col.width += col.bands[i].width
	}
	missing := max(0, textWidth(title, textSize)+12-col.width)
	last.width, col.width = last.width+missing, col.width+missing
	p.columns = append(p.columns, col)
}

// spareGroups splits transfers by class and by how long they wait. It ignores the waits if that
// gives too many groups.
func spareGroups(all []spare) [][]spare {
	sorted := slices.Clone(all)
	slices.SortStableFunc(sorted, func(a, b spare) int {
		return cmp.Or(cmp.Compare(a.class, b.class), a.after-b.after, compareTransfers(a.transfer, b.transfer))
	})
	waits := map[int]bool{}
	for _, s := range sorted {
		waits[s.after] = true
	}
	var out [][]spare
	for len(sorted) > 0 {
		n := 1
		for n < len(sorted) && sorted[n].class == sorted[0].class && (sorted[n].after == sorted[0].after || len(waits) > maxWaits) {
			n++
		}
		out, sorted = append(out, sorted[:n]), sorted[n:]
	}
	return out
}

// spareBand returns the band of a group: single arrows, one for each pair of ranks.
func (p *plan) spareBand(group []spare) band {
	type pair struct{ from, to int }
	seen := map[pair]bool{}
	var stars []star
	for _, s := range group {
		if at := (pair{s.from, s.to}); !seen[at] {
			seen[at] = true
			stars = append(stars, star{class: s.class, hub: s.from, out: true, leaves: []leaf{{s.to, cargo{s.message}}}})
		}
	}
	b := p.band(stars)
	b.label = waitLabel(group)
	b.width = max(b.width, textWidth(b.label, smallSize)+12)
	return b
}

// waitLabel says how long the transfers of a group wait, in base timeouts.
func waitLabel(group []spare) string {
	first, last := group[0].after, group[len(group)-1].after
	switch {
	case group[0].class == answer:
		return ""
	case last == 0:
		return "at once"
	case first == last:
		return fmt.Sprintf("after %d", first)
	}
	return fmt.Sprintf("after %d–%d", first, last)
}
