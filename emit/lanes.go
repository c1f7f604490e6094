package emit

import (
	"fmt"
	"strconv"
)

// margin is the column of the first lane; the number of the round stands left
// of it.
const margin = 8

// Columns between lanes: what arrows need at least, what is left for labels
// on the right where arrows are too short to carry theirs, and what is wide
// enough.
const (
	minPitch   = 3
	rightLabel = 10
	maxPitch   = 9
)

// sheet is the lines of a drawing with one lane for each rank.
type sheet struct {
	run    *run
	pitch  int  // columns from lane to lane
	inline bool // labels stand in the arrows, not at the right
	width  int
	rows   []row
}

// lanes draws the run, or returns the reason why it does not fit.
func lanes(t *run, o RoundsOptions) ([]row, string) {
	ranks := len(t.Programs)
	if margin+(ranks-1)*minPitch+rightLabel > o.Width {
		return nil, fmt.Sprintf("%s do not fit in %d columns", count(ranks, "rank"), o.Width)
	}
	if t.last > maxLines || len(t.transfers) > maxTransfers {
		return nil, fmt.Sprintf("%s in %s are too many to draw", count(len(t.transfers), "transfer"), count(t.last, "round"))
	}
	rounds := starsByRound(t)
	sh := newSheet(t, o, longestLabel(rounds))
	if !sh.draw(rounds) {
		return nil, fmt.Sprintf("a drawing would have more than %d lines", maxLines)
	}
	return sh.rows, ""
}

func starsByRound(t *run) [][]star {
	out := make([][]star, t.last)
	rest := t.transfers
	for i := range out {
		n := 0
		for n < len(rest) && rest[n].round == i+1 {
			n++
		}
		out[i] = stars(rest[:n], len(t.Programs))
		rest = rest[n:]
	}
	return out
}

func longestLabel(rounds [][]star) int {
	longest := 0
	for _, round := range rounds {
		for _, s := range round {
			for _, l := range s.leaves {
				longest = max(longest, len(slotList(l.slots)))
			}
		}
	}
	return longest
}

// newSheet chooses the pitch: with labels in the arrows where that fits.
func newSheet(t *run, o RoundsOptions, label int) *sheet {
	gaps := max(1, len(t.Programs)-1)
	sh := &sheet{run: t, width: o.Width}
	fits := (o.Width - margin - 2) / gaps
	if need := label + 5; fits >= need {
		sh.inline, sh.pitch = true, min(fits, max(need+1, maxPitch))
		return sh
	}
	sh.pitch = max(minPitch, min((o.Width-margin-rightLabel)/gaps, maxPitch))
	return sh
}

// draw draws the rounds. It gives up and returns false where they take more
// than maxLines.
func (sh *sheet) draw(rounds [][]star) bool {
	packed, crowded := sh.pack(rounds)
	sh.ranksRow()
	for i, lines := range packed {
		if crowded {
			sh.rows = append(sh.rows, sh.laneRow())
		}
		sh.round(i+1, lines)
		if len(sh.rows) > maxLines {
			return false
		}
	}
	sh.rows = append(sh.rows, sh.laneRow())
	sh.returnRow()
	sh.rows = append(append(sh.rows, nil), wrap("return: the round after which a rank's call returns", sh.width, dim)...)
	return true
}

// pack packs every round; crowded says that one takes more than a line.
func (sh *sheet) pack(rounds [][]star) (packed [][][]star, crowded bool) {
	for _, round := range rounds {
		lines := pack(round, !sh.inline)
		packed = append(packed, lines)
		crowded = crowded || len(lines) > 1
	}
	return packed, crowded
}

func (sh *sheet) round(number int, lines [][]star) {
	for i, line := range lines {
		r := sh.line(line)
		if i == 0 {
			r.text(0, fmt.Sprintf("%5d", number), bold)
		}
		sh.rows = append(sh.rows, r)
	}
}

func (sh *sheet) lane(rank int) int { return margin + rank*sh.pitch }

// centred writes text over a lane.
func (sh *sheet) centred(r row, rank int, text string, st style) {
	r.text(sh.lane(rank)-(len(text)-1)/2, text, st)
}

func (sh *sheet) ranksRow() {
	r := newRow(sh.width)
	r.text(0, "round", dim)
	for rank := range sh.run.Programs {
		sh.centred(r, rank, strconv.Itoa(rank), bold)
	}
	sh.rows = append(sh.rows, r)
}

// returnRow tells after which round each call returns.
func (sh *sheet) returnRow() {
	r := newRow(sh.width)
	r.text(0, "return", dim)
	for rank, at := range sh.run.done {
		if at < 0 {
			sh.centred(r, rank, "-", bad)
			continue
		}
		sh.centred(r, rank, strconv.Itoa(at), plain)
	}
	sh.rows = append(sh.rows, r)
}

func (sh *sheet) laneRow() row {
	r := newRow(sh.width)
	for rank := range sh.run.Programs {
		r[sh.lane(rank)] = cell{'│', dim}
	}
	return r
}

func (sh *sheet) line(stars []star) row {
	r := sh.laneRow()
	for i := range stars {
		sh.arrows(r, &stars[i])
	}
	if !sh.inline {
		at := sh.lane(len(sh.run.Programs)-1) + 3
		r.text(at, stars[0].label(), classStyle+style(stars[0].class))
	}
	return r
}
