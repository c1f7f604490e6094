package cli

import (
	"fmt"
	"time"
	"unicode/utf8"

	"github.com/schollz/progressbar/v3"

	"github.com/schedgen/schedgen/cast"
	"github.com/schedgen/schedgen/internal/command"
	"github.com/schedgen/schedgen/internal/words"
)

// castProgress shows on a terminal how far a cast has come.
type castProgress struct {
	bar   *progressbar.ProgressBar
	doing string
	names []string // names of the receivers, from rank 1 on; empty at a receiver
	room  int      // columns of the text before the bar
	shown string   // text before the bar
}

// barRoom is the least number of columns for the bar and its numbers.
const barRoom = 40

// newCastProgress returns a bar, which is shown only on a terminal. total is -1 if it is not known.
func newCastProgress(std command.Stdio, total int64, doing string, names []string) *castProgress {
	if !command.IsTerminal(std.Err) {
		return &castProgress{}
	}
	room := max(command.WidthOf(std.Err)-barRoom, len(doing))
	return &castProgress{doing: doing, names: names, room: room, bar: progressbar.NewOptions64(max(total, -1),
		progressbar.OptionSetWriter(std.Err),
		progressbar.OptionSetDescription(doing),
		progressbar.OptionShowBytes(true),
		progressbar.OptionThrottle(200*time.Millisecond),
		progressbar.OptionClearOnFinish(),
		progressbar.OptionSetWidth(30),
	)}
}

// Errors of the terminal are ignored, because they must not stop a cast.

func (p *castProgress) show(at cast.Progress) {
	if p.bar == nil {
		return
	}
	if text := p.describe(at); text != p.shown {
		p.shown = text
		p.bar.Describe(text)
	}
	_ = p.bar.Set64(at.Bytes)
}

// describe returns the text before the bar. It names as many of the slowest hosts as there is room
// for.
func (p *castProgress) describe(at cast.Progress) string {
	text := p.doing
	if at.Failed > 0 {
		text = fmt.Sprintf("%s, %d failed", text, at.Failed)
	}
	before := ", waits for "
	for _, slow := range at.Slow {
		left := p.room - utf8.RuneCountInString(text+before)
		host := squeeze(p.names[slow.Rank-1], "("+words.Bytes(slow.Rate)+"/s)", left)
		if host == "" {
			break
		}
		text, before = text+before+host, ", "
	}
	return text
}

// squeeze returns name and said, the name alone, or the beginning of the name, whichever fits into
// the columns, or "" if they are too few.
func squeeze(name, said string, columns int) string {
	const least = 12
	switch n := []rune(name); {
	case utf8.RuneCountInString(name+" "+said) <= columns:
		return name + " " + said
	case len(n) <= columns:
		return name
	case columns >= least:
		return string(n[:columns-1]) + "…"
	}
	return ""
}

// clear removes the bar before a line of output.
func (p *castProgress) clear() {
	if p.bar != nil {
		_ = p.bar.Clear()
	}
}
