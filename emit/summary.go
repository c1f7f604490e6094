package emit

import (
	"fmt"
	"slices"
	"strings"

	"github.com/schedgen/schedgen/ir"
)

// maxSummary is the maximum number of lines of a summary.
const maxSummary = 60

// tally sums up the transfers of one class in one round.
type tally struct {
	class     class
	count     int
	slots     []ir.Slot // sorted
	distances []int     // of a put, to - from modulo the number of ranks; sorted
	first     transfer

	fewest, most int // numbers of slots of a message
}

// summary describes what moves in one line for each round and class. Consecutive rounds with the
// same counts and distances share a line.
func summary(t *run, o RoundsOptions, reason string) []row {
	what := "Each line sums up a round; --rank R tells one rank's part"
	if reason != "" {
		what = reason + ", so e" + what[1:]
	}
	rows := append(wrap(what, o.Width, plain), nil)
	head := newRow(o.Width)
	head.text(0, "   rounds  transfers  slots       distance", dim)
	rows = append(rows, head)
	left := 0
	for _, g := range runsOfRounds(tallies(t)) {
		if len(rows) > maxSummary {
			left += g.last - g.first + 1
			continue
		}
		rows = append(rows, g.rows(o.Width)...)
	}
	if left > 0 {
		rows = append(rows, textRow("… and "+count(left, "more round"), dim))
	}
	return append(append(rows, nil), returnSummary(t, o.Width)...)
}

func tallies(t *run) [][]tally {
	out := make([][]tally, t.last)
	for i, rest := 0, t.transfers(); i < len(rest); {
		n := i + 1
		for n < len(rest) && rest[n].round == rest[i].round && rest[n].class == rest[i].class {
			n++
		}
		at := &out[rest[i].round-1]
		*at = append(*at, newTally(rest[i:n], len(t.Programs)))
		i = n
	}
	return out
}

func newTally(trs []transfer, ranks int) tally {
	out := tally{class: trs[0].class, count: len(trs), first: trs[0], fewest: len(trs[0].message)}
	for _, tr := range trs {
		for _, a := range tr.message {
			out.slots = append(out.slots, a.Slot)
		}
		out.fewest, out.most = min(out.fewest, len(tr.message)), max(out.most, len(tr.message))
		if tr.to != everyone {
			out.distances = append(out.distances, (tr.to-tr.from+ranks)%ranks)
		}
	}
	out.slots, out.distances = set(out.slots), set(out.distances)
	return out
}

// set sorts a list and removes duplicates.
func set[T ir.Slot | int](list []T) []T {
	slices.Sort(list)
	return slices.Clip(slices.Compact(list))
}

// span is consecutive rounds in which the same happens at other places.
type span struct {
	first, last int
	tallies     []tally // of the first round, with the slots of all rounds
}

func runsOfRounds(rounds [][]tally) []span {
	var out []span
	for i, ts := range rounds {
		if n := len(out) - 1; n >= 0 && slices.EqualFunc(out[n].tallies, ts, alike) {
			out[n].last = i + 1
			for j := range ts {
				all := &out[n].tallies[j]
				all.slots = set(append(all.slots, ts[j].slots...))
				all.fewest, all.most = min(all.fewest, ts[j].fewest), max(all.most, ts[j].most)
			}
			continue
		}
		out = append(out, span{i + 1, i + 1, ts})
	}
	return out
}

func alike(a, b tally) bool {
	return a.class == b.class && a.count == b.count && slices.Equal(a.distances, b.distances)
}

func (g *span) rows(width int) []row {
	var out []row
	for i, ta := range g.tallies {
		r := newRow(width)
		if i == 0 {
			r.text(0, fmt.Sprintf("%9s", g.name()), bold)
		}
		r.text(11, ta.line(), classStyle+style(ta.class))
		out = append(out, r)
	}
	return out
}

func (g *span) name() string {
	if g.first == g.last {
		return fmt.Sprint(g.first)
	}
	return fmt.Sprintf("%d-%d", g.first, g.last)
}

var classWord = [...]string{mcast: "mcast", putChunk: "put", putSignal: "put", repair: "repair", request: "request", answer: "answer"}

func (t *tally) line() string {
	what := count(t.count, classWord[t.class])
	if t.class == mcast {
		return fmt.Sprintf("%-10s %-11s to all      e.g. from %d", what, slotList(t.slots), t.first.from)
	}
	return fmt.Sprintf("%-10s %-11s %-11s e.g. %d → %d%s", what, slotList(t.slots), distanceList(t.distances), t.first.from, t.first.to, t.bundled())
}

// bundled says how many chunks the messages have, if not one each.
func (t *tally) bundled() string {
	switch {
	case t.most == 1:
		return ""
	case t.fewest == t.most:
		return fmt.Sprintf(", %s each", count(t.most, t.thing()))
	}
	return fmt.Sprintf(", %s to %s each", number(t.fewest), count(t.most, t.thing()))
}

// thing returns the word for what messages have several of: "chunk", or "slot" if there are partial
// results or contributions.
func (t *tally) thing() string {
	if slices.ContainsFunc(t.slots, func(s ir.Slot) bool { return s.Kind() != ir.KindChunk }) {
		return "slot"
	}
	return "chunk"
}

// distanceList spells a few distances, or only their number.
func distanceList(ds []int) string {
	runs := intRuns(ds, "…")
	if len(runs) > 3 {
		return fmt.Sprintf("%d kinds", len(ds))
	}
	return "+" + strings.Join(runs, ",")
}

// returnSummary says when the first and the last call returns.
func returnSummary(t *run, width int) []row {
	first, never := t.rounds, t.neverReturns()
	for _, at := range t.returns {
		if at >= 0 {
			first = min(first, at)
		}
	}
	var parts []string
	switch n := len(t.returns) - never; {
	case n > 0 && first == t.rounds:
		parts = append(parts, fmt.Sprintf("%s %s after round %d", count(n, "call"), verb(n, "return"), t.rounds))
	case n > 0:
		parts = append(parts, fmt.Sprintf("%s return: the first after round %d, the last after round %d", count(n, "call"), first, t.rounds))
	}
	if never > 0 {
		parts = append(parts, fmt.Sprintf("%s never %s", count(never, "call"), verb(never, "return")))
	}
	return wrap(strings.Join(parts, "; "), width, plain)
}
