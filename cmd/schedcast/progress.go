package main

import (
	"fmt"
	"unicode/utf8"

	"github.com/schedgen/schedgen/internal/cast"
	"github.com/schedgen/schedgen/internal/terminal"
	"github.com/schedgen/schedgen/internal/words"
)

// progress shows on a terminal how far a cast has come.
type progress struct {
	bar   terminal.Progress
	doing string
	names []string // names of the receivers, from rank 1 on; empty at a receiver
	room  int      // columns of the text before the bar
	shown string   // text before the bar
}

// barRoom is the least number of columns for the bar and its numbers.
const barRoom = 40

// newProgress returns a bar, which is shown only on a terminal. total is -1 if it is not known.
func newProgress(std terminal.Stdio, total int64, doing string, names []string) *progress {
	if !terminal.IsTerminal(std.Err) {
		return &progress{}
	}
	room := max(terminal.WidthOf(std.Err)-barRoom, len(doing))
	return &progress{doing: doing, names: names, room: room, bar: terminal.NewBytes(std, total, doing)}
}

func (p *progress) show(at cast.Progress) {
	if p.bar == (terminal.Progress{}) {
		return
	}
	if text := p.describe(at); text != p.shown {
		p.shown = text
		p.bar.Describe(text)
	}
	p.bar.Set(at.Bytes)
}

// describe returns the text before the bar. It names as many of the slowest hosts as there is room
// for.
func (p *progress) describe(at cast.Progress) string {
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
func (p *progress) clear() { p.bar.Clear() }
