package emit

import (
	"fmt"
	"strconv"
	"strings"
	"unicode/utf8"
)

// margin is the column of the first lane. The number of the round is left of it.
const margin = 8

// Columns between lanes: the minimum for arrows, the room for labels on the right if arrows are too
// short to carry theirs, and the maximum unless labels in the arrows need more.
const (
	minPitch   = 3
	rightLabel = 10
	maxPitch   = 9
)

// sheet is the lines of a drawing with one lane for each rank.
type sheet struct {
	scene  *scene
	pitch  int  // columns from lane to lane
	inline bool // labels are in the arrows, not on the right
	width  int
	rows   []row
}

// lanes draws what o asks for, or returns the reason why it does not fit.
func lanes(t *run, o RoundsOptions) (*sheet, string) {
	most := max(0, o.Width-margin-rightLabel)/leastPitch(t) + 1 // lanes that fit
	if most < min(len(t.Programs), 3) || o.Extract.kind == everybody && most < len(t.Programs) {
		return nil, fmt.Sprintf("%s do not fit in %d columns", count(len(t.Programs), "rank"), o.Width)
	}
	rounds := wholeRounds
	if o.Extract.kind == everybody {
		rounds = maxLines
	}
	sc := t.scene(t.pick(o.Extract, min(most, wholeRanks)), rounds)
	if len(sc.transfers) > maxTransfers {
		return nil, fmt.Sprintf("%s are too many to draw", count(len(sc.transfers), "transfer"))
	}
	byRound := sc.stars()
	sh := newSheet(sc, o, longestLabel(byRound))
	if !sh.draw(byRound) {
		return nil, fmt.Sprintf("a drawing would have more than %d lines", maxLines)
	}
	return sh, ""
}

// leastPitch returns the minimum distance of lanes at which the numbers of ranks and rounds fit
// beside each other.
func leastPitch(t *run) int {
	return max(minPitch, 1+len(strconv.Itoa(max(len(t.Programs)-1, t.rounds))))
}

// stars groups the transfers of the scene, by column.
func (sc *scene) stars() [][]star {
	out := make([][]star, len(sc.numbers))
	rest := sc.transfers
	for i := range out {
		n := 0
		for n < len(rest) && rest[n].round == i+1 {
			n++
		}
		out[i] = stars(rest[:n], len(sc.ranks))
		rest = rest[n:]
	}
	return out
}

func longestLabel(rounds [][]star) int {
	longest := 0
	for _, round := range rounds {
		for _, s := range round {
			for _, l := range s.leaves {
				longest = max(longest, utf8.RuneCountInString(l.cargo.label()))
			}
		}
	}
	return longest
}

// newSheet chooses the pitch. Labels are in the arrows if they fit.
func newSheet(sc *scene, o RoundsOptions, label int) *sheet {
	gaps := max(1, len(sc.ranks)-1)
	sh := &sheet{scene: sc, width: o.Width}
	fits := (o.Width - margin - max(2, leastPitch(sc.run)/2+1)) / gaps
	need := label + 5
	if term := sh.longestTerm() + 2; term <= fits {
		need = max(need, term)
	}
	if fits >= max(need, leastPitch(sc.run)) {
		sh.inline, sh.pitch = true, min(fits, max(need+1, maxPitch))
		return sh
	}
	sh.pitch = max(leastPitch(sc.run), min((o.Width-margin-rightLabel)/gaps, maxPitch))
	return sh
}

// draw draws the rounds. It gives up and returns false if they take more than maxLines.
func (sh *sheet) draw(rounds [][]star) bool {
	packed, crowded := sh.pack(rounds)
	sh.ranksRow()
	sh.folds(0)
	for i, lines := range packed {
		if crowded {
			sh.rows = append(sh.rows, sh.laneRow())
		}
		if sh.scene.gap(i + 1) {
			sh.rows = append(sh.rows, sh.gapRow())
		}
		sh.round(sh.scene.numbers[i], lines)
		sh.folds(i + 1)
		if len(sh.rows) > maxLines {
			return false
		}
	}
	sh.rows = append(sh.rows, sh.laneRow())
	sh.returnRow()
	sh.rows = append(append(sh.rows, nil), wrap("return: the round after which a rank's call returns", sh.width, dim)...)
	return true
}

// pack packs every round. crowded says that some round takes more than one line.
func (sh *sheet) pack(rounds [][]star) (packed [][][]star, crowded bool) {
	for _, round := range rounds {
		lines := pack(round, !sh.inline)
		packed = append(packed, lines)
		crowded = crowded || len(lines) > 1
	}
	return packed, crowded
}

func (sh *sheet) round(number int, lines [][]star) {
	if len(lines) == 0 { // calls return, and nothing else is shown
		lines = [][]star{nil}
	}
	for i, line := range lines {
		r := sh.line(line)
		if i == 0 {
			r.text(0, fmt.Sprintf("%5d", number), bold)
		}
		sh.rows = append(sh.rows, r)
	}
}

// longestTerm returns the length of the longest text of a fold for which a lane may have room.
func (sh *sheet) longestTerm() int {
	longest := 0
	for _, f := range sh.scene.folds {
		if n := len(sh.scene.run.text(f.term, sh.width)); n < sh.width {
			longest = max(longest, n)
		}
	}
	return longest
}

// folds draws the folds of ranks after a round. A lane shows the term of the fold, or a sign if
// there is no room for it.
func (sh *sheet) folds(column int) {
	all := sh.scene.foldsAfter(column)
	if all == nil {
		return
	}
	r := sh.laneRow()
	for lane, made := range all {
		if made == nil {
			continue
		}
		room := sh.pitch - 1
		text := sh.scene.run.wordsOf(made, room+1)
		if len(text) > room || strings.Contains(text, "…") {
			r[sh.lane(lane)] = cell{'◆', bold}
			continue
		}
		sh.centred(r, lane, text, bold)
	}
	sh.rows = append(sh.rows, r)
}

func (sh *sheet) lane(i int) int { return margin + i*sh.pitch }

// centred writes text centred at a lane.
func (sh *sheet) centred(r row, lane int, text string, st style) {
	r.text(sh.lane(lane)-(len(text)-1)/2, text, st)
}

func (sh *sheet) ranksRow() {
	r := newRow(sh.width)
	r.text(0, "round", dim)
	for lane, rank := range sh.scene.ranks {
		sh.centred(r, lane, strconv.Itoa(rank), bold)
	}
	sh.rows = append(sh.rows, r)
}

// returnRow shows the round after which each call returns.
func (sh *sheet) returnRow() {
	r := newRow(sh.width)
	r.text(0, "return", dim)
	for lane, rank := range sh.scene.ranks {
		at := sh.scene.run.returns[rank]
		if at < 0 {
			sh.centred(r, lane, "-", bad)
			continue
		}
		sh.centred(r, lane, strconv.Itoa(at), plain)
	}
	sh.rows = append(sh.rows, r)
}

func (sh *sheet) laneRow() row {
	r := newRow(sh.width)
	for lane := range sh.scene.ranks {
		r[sh.lane(lane)] = cell{'│', dim}
	}
	return r
}

// gapRow stands for rounds that are left out.
func (sh *sheet) gapRow() row {
	r := newRow(sh.width)
	r.text(4, "…", dim)
	for lane := range sh.scene.ranks {
		r[sh.lane(lane)] = cell{'…', dim}
	}
	return r
}

func (sh *sheet) line(stars []star) row {
	r := sh.laneRow()
	for i := range stars {
		sh.arrows(r, &stars[i])
	}
	if !sh.inline && len(stars) > 0 {
		at := sh.lane(len(sh.scene.ranks)-1) + 3
		r.text(at, stars[0].label(), classStyle+style(stars[0].class))
	}
	return r
}
