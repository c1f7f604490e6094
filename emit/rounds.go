package emit

import (
	"fmt"
	"io"
	"strings"
	"unicode/utf8"

	"github.com/schedgen/schedgen/ir"
)

// RoundsOptions says how [Rounds] draws. The zero value draws for a terminal of 80 columns without
// colour.
type RoundsOptions struct {
	Width int  // columns of the terminal, at most MaxWidth; 0: 80
	Color bool // use ANSI colour sequences
	ASCII bool // use only ASCII characters
	Lost  bool // draw the run in which every multicast is lost and repaired

	Extract Extract // which ranks to draw
}

// MaxWidth is the maximum number of columns in which [Rounds] draws.
const MaxWidth = 10_000

// Bounds of a drawing: its lines, and the transfers from which it is made. Beyond them rounds are
// summed up.
const (
	maxLines     = 400
	maxTransfers = 1 << 20
)

// Rounds draws s for a terminal: ranks across, rounds down, and an arrow for every transfer. If s
// does not fit the width or would be unreadable, Rounds draws an extract. If even that takes more
// than a few hundred lines, Rounds sums up the rounds. The drawing says so. Rounds fails if o.Width
// is above MaxWidth, or if o.Extract or s names ranks or slots that do not exist.
func Rounds(w io.Writer, s *ir.Schedule, o RoundsOptions) error {
	if o.Width <= 0 {
		o.Width = 80
	}
	if o.Width > MaxWidth {
		return fmt.Errorf("draw %s: in %s columns, at most %s", s.Name(), number(o.Width), number(MaxWidth))
	}
	t, err := trace(s, o.Lost)
	if err == nil {
		err = o.Extract.check(s.Ranks)
	}
	if err != nil {
		return fmt.Errorf("draw %s: %w", s.Name(), err)
	}
	if _, err := io.WriteString(w, drawing(t, o)); err != nil {
		return fmt.Errorf("draw %s: %w", s.Name(), err)
	}
	return nil
}

func drawing(t *run, o RoundsOptions) string {
	rows := append(append(title(t, o), body(t, o)...), notes(t, o)...)
	var b strings.Builder
	for _, r := range rows {
		b.WriteString(r.render(o.Color))
	}
	if o.ASCII {
		return toASCII.Replace(b.String())
	}
	return b.String()
}

// body draws lanes. It sums up the rounds if asked to or if lanes do not fit.
func body(t *run, o RoundsOptions) []row {
	if o.Extract.kind == sums {
		return summary(t, o, "")
	}
	sh, reason := lanes(t, o)
	if reason != "" {
		return summary(t, o, reason)
	}
	rows := wrap(sh.scene.note, o.Width, plain)
	if len(rows) > 0 {
		rows = append(rows, nil)
	}
	return append(append(rows, sh.rows...), wrap(usedSigns(sh.scene), o.Width, dim)...)
}

// toASCII maps every character of a drawing to a similar ASCII character of one column.
var toASCII = strings.NewReplacer("│", "|", "├", "|", "┤", "|", "╞", "|", "╡", "|",
	"─", "-", "═", "=", "╌", ".", "┄", ":", "┈", "'", "●", "o", "▶", ">", "◀", "<", "…", "~", "×", "x", "·", "-", "◆", "*", "→", "->")

// title says what is drawn.
func title(t *run, o RoundsOptions) []row {
	name := textRow(t.Name(), bold)
	facts := headerFacts(&t.Header) + " · " + totals(t)
	if o.Lost {
		facts += " · all multicasts lost"
	}
	return append([]row{name}, append(wrap(facts, o.Width, plain), nil)...)
}

// headerFacts describes the parameters of the schedule: "8 ranks, root 0, 1 chunk".
func headerFacts(h *ir.Header) string { return strings.Join(factsOf(h), ", ") }

func factsOf(h *ir.Header) []string {
	parts := []string{count(h.Ranks, "rank")}
	if h.Rooted() {
		parts = append(parts, fmt.Sprintf("%s %d", h.RootWord(), h.Root))
	}
	if text := chunksPhrase(h); text != "" {
		parts = append(parts, text)
	}
	for _, p := range h.Params {
		parts = append(parts, fmt.Sprintf("%s %d", p.Name, p.Value))
	}
	return parts
}

// chunksPhrase describes what the operation moves: "2 chunks", "5 blocks", "5 blocks of 2 chunks".
// For a barrier it describes the chunks without bytes. It is "" if there are none.
func chunksPhrase(h *ir.Header) string {
	switch blocks, per := h.Blocks(), h.BlockChunks(); {
	case h.Chunks == 0:
		return ""
	case blocks <= 1:
		return count(h.Chunks, "chunk")
	case per == 1:
		return count(blocks, "block")
	default:
		return fmt.Sprintf("%s of %s", count(blocks, "block"), count(per, "chunk"))
	}
}

// totals describes how long the run takes, how much it moves, and how many calls never return: "4
// rounds, 1 multicast, 7 puts".
func totals(t *run) string {
	parts := []string{count(t.rounds, "round")}
	if t.multicasts > 0 {
		parts = append(parts, count(t.multicasts, "multicast"))
	}
	parts = append(parts, count(t.puts, "put"))
	if n := len(t.folds); n > 0 {
		parts = append(parts, count(n, "fold"))
	}
	if never := t.neverReturns(); never > 0 {
		parts = append(parts, count(never, "call")+" that never "+verb(never, "return"))
	}
	return strings.Join(parts, ", ")
}

// notes describes the results of the run, and what the run does not need.
func notes(t *run, o RoundsOptions) []row {
	out := resultRows(t, o.Width)
	every := func(yield func(int) bool) {
		for rank := 0; rank < t.Ranks && yield(rank); rank++ {
		}
	}
	for _, line := range namesIn(t.Schedule, every) {
		out = append(out, wrap(line, o.Width, dim)...)
	}
	if idle := t.notNeeded(); idle != "" {
		out = append(out, wrap("not needed in this run: "+idle, o.Width, dim)...)
	}
	if t.stuck > 0 {
		out = append(out, wrap(count(t.stuck, "rule")+" can never fire: see schedgen verify", o.Width, bad)...)
	}
	return out
}

// maxResults is the maximum number of results that a drawing names.
const maxResults = 16

// resultRows describes the results that ranks have at the end, with the term of each.
func resultRows(t *run, width int) []row {
	all := t.results()
	if len(all) == 0 {
		return nil
	}
	rows := []row{nil, textRow("results; each number is the rank of a contribution:", dim)}
	for i, r := range all {
		if i == maxResults {
			return append(rows, textRow("… and "+count(len(all)-i, "more result"), dim))
		}
		head := fmt.Sprintf("  %s of %s: ", slotList(r.chunks), rankPhrase(set(r.ranks)))
		st := plain
		if r.term == 0 {
			st = bad
		}
		rows = append(rows, textRow(head+t.text(r.term, max(16, width-utf8.RuneCountInString(head))), st))
	}
	return rows
}

// usedSigns returns the legend of the kinds of arrows that occur, except plain puts.
func usedSigns(sc *scene) string {
	var has [answer + 1]bool
	for _, tr := range sc.transfers {
		has[tr.class] = true
	}
	var parts []string
	switch {
	case has[mcast] && sc.run.lost:
		parts = append(parts, "═× multicast, lost")
	case has[mcast]:
		parts = append(parts, "═▶ multicast, may be lost")
	}
	for _, c := range []class{repair, request, answer} {
		if has[c] {
			parts = append(parts, string(shaft(c))+"▶ "+classWord[c])
		}
	}
	if len(parts) > 0 && (has[putChunk] || has[putSignal]) {
		parts = append(parts, "─▶ put")
	}
	if len(sc.folds) > 0 {
		parts = append(parts, "(01) 0's contribution with 1's folded onto it", "◆ a fold whose term has no room")
	}
	return strings.Join(parts, " · ")
}

func textRow(s string, st style) row {
	r := newRow(utf8.RuneCountInString(s))
	r.text(0, s, st)
	return r
}

// wrap breaks s at blanks into rows of at most width columns. An empty text has no row. A longer
// word has its own row.
func wrap(s string, width int, st style) []row {
	var out []row
	line := ""
	for word := range strings.FieldsSeq(s) {
		switch {
		case line == "":
			line = word
		case utf8.RuneCountInString(line)+1+utf8.RuneCountInString(word) > width:
			out = append(out, textRow(line, st))
			line = word
		default:
			line += " " + word
		}
	}
	if line != "" {
		out = append(out, textRow(line, st))
	}
	return out
}
