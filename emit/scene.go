package emit

import (
	"fmt"
	"slices"
)

// scene is what a picture with lanes shows of a run: some of its ranks, and the rounds in which
// something happens to them.
type scene struct {
	run       *run
	ranks     []int      // by lane, ascending
	hub       bool       // all transfers shown have one rank in common
	numbers   []int      // by column: the round's number, ascending
	transfers []transfer // between lanes; by column, class, from, to, slot
	folds     []fold     // of lanes; by column, lane
	spare     []spare    // between lanes
	done      []int      // by lane: the column after which the call returns, -1: never
	sends     [][]bool   // by lane and column, from 1: the rank sends
	note      string     // the ranks shown and what is left out; "" if nothing is
}

// scene shows the ranks of p in at most the given number of rounds: the first and the last ones.
func (t *run) scene(p pick, rounds int) *scene {
	sc := &scene{run: t, ranks: p.ranks, hub: p.hub >= 0}
	lanes := newLaneIndex(len(t.Programs), p.ranks)
	t.moves(func(tr transfer) {
		if tr, ok := lanes.within(tr, p.hub); ok {
			sc.transfers = append(sc.transfers, tr)
		}
	})
	t.mayMove(func(s spare) {
		if tr, ok := lanes.within(s.transfer, p.hub); ok {
			sc.spare = append(sc.spare, spare{tr, s.after})
		}
	})
	for _, f := range t.folds {
		if f.rank = lanes[f.rank]; f.rank >= 0 {
			sc.folds = append(sc.folds, f)
		}
	}
	left := sc.cut(rounds)
	sc.markSends(lanes)
	slices.SortStableFunc(sc.transfers, compareTransfers)
	if len(p.ranks) < len(t.Programs) || left > 0 || p.hub >= 0 {
		sc.note = sc.caption(p, left)
	}
	return sc
}

// laneIndex is the lane of each rank, -1 for a rank that is left out.
type laneIndex []int

func newLaneIndex(ranks int, shown []int) laneIndex {
	at := make(laneIndex, ranks)
	for i := range at {
		at[i] = -1
	}
	for lane, rank := range shown {
		at[rank] = lane
	}
	return at
}

// within returns the transfer between lanes, and false if it is not shown. A multicast is shown to
// all lanes, or, with a hub, only to the hub.
func (at laneIndex) within(tr transfer, hub int) (transfer, bool) {
	if tr.to == everyone && hub >= 0 && tr.from != hub {
		tr.to = hub
	}
	switch {
	case hub >= 0 && tr.from != hub && tr.to != hub, at[tr.from] < 0, tr.to != everyone && at[tr.to] < 0:
		return tr, false
	}
	tr.from = at[tr.from]
	if tr.to != everyone {
		tr.to = at[tr.to]
	}
	return tr, true
}

// cut keeps the rounds in which something is shown. If there are too many, it keeps the first and
// the last ones. It sets the column of everything that is shown, and returns how many rounds of the
// run are left out.
func (sc *scene) cut(most int) int {
	numbers := map[int]bool{}
	for _, tr := range sc.transfers {
		numbers[tr.round] = true
	}
	for _, f := range sc.folds {
		if f.round > 0 {
			numbers[f.round] = true
		}
	}
	for _, rank := range sc.ranks {
		if at := sc.run.returns[rank]; at > 0 {
			numbers[at] = true
		}
	}
	sc.numbers = sortedKeys(numbers)
	if n := len(sc.numbers); n > most {
		sc.numbers = slices.Concat(sc.numbers[:most/2], sc.numbers[n-(most-most/2):])
	}
	sc.transfers = slices.DeleteFunc(sc.transfers, func(tr transfer) bool { return sc.column(tr.round) < 0 })
	for i := range sc.transfers {
		sc.transfers[i].round = sc.column(sc.transfers[i].round)
	}
	sc.folds = slices.DeleteFunc(sc.folds, func(f fold) bool { return f.round > 0 && sc.column(f.round) < 0 })
	for i := range sc.folds {
		if f := &sc.folds[i]; f.round > 0 {
			f.round = sc.column(f.round)
		}
	}
	for _, rank := range sc.ranks {
		sc.done = append(sc.done, sc.lastColumn(sc.run.returns[rank]))
	}
	return sc.run.last - len(sc.numbers)
}

// column returns the column of a round, from 1, or -1 if the round is left out.
func (sc *scene) column(round int) int {
	if i, ok := slices.BinarySearch(sc.numbers, round); ok {
		return i + 1
	}
	return -1
}

// lastColumn returns the last column up to a round, 0 if there is none, and -1 for a round that
// never comes.
func (sc *scene) lastColumn(round int) int {
	if round < 0 {
		return -1
	}
	i, found := slices.BinarySearch(sc.numbers, round)
	if found {
		return i + 1
	}
	return i
}

// markSends records in which columns each lane's rank sends, to any rank.
func (sc *scene) markSends(lanes laneIndex) {
	for range sc.ranks {
		sc.sends = append(sc.sends, make([]bool, len(sc.numbers)+1))
	}
	sc.run.moves(func(tr transfer) {
		if lane, column := lanes[tr.from], sc.column(tr.round); lane >= 0 && column > 0 {
			sc.sends[lane][column] = true
		}
	})
}

// gap reports whether rounds are left out before a column.
func (sc *scene) gap(column int) bool {
	before := 0
	if column > 1 {
		before = sc.numbers[column-2]
	}
	return sc.numbers[column-1] > before+1
}

// caption describes which ranks are shown and what is left out.
func (sc *scene) caption(p pick, left int) string {
	t := sc.run
	text := fmt.Sprintf("%s of %s", number(len(sc.ranks)), count(len(t.Programs), "rank"))
	if p.why != "" {
		text += ": " + p.why
	}
	if left > 0 {
		text += fmt.Sprintf(". %s of %s", number(len(sc.numbers)), count(t.last, "round"))
	}
	return fmt.Sprintf("%s. %s of %s; the others are left out.", text, number(len(sc.transfers)), count(t.multicasts+t.puts, "transfer"))
}

// foldsAfter returns the folds of each lane after a column. Column 0 has the folds of what ranks
// have from the beginning. It returns nil if there are none.
func (sc *scene) foldsAfter(column int) [][]fold {
	var out [][]fold
	for _, f := range sc.folds {
		if f.round != column {
			continue
		}
		if out == nil {
			out = make([][]fold, len(sc.ranks))
		}
		out[f.rank] = append(out[f.rank], f)
	}
	return out
}
