package main

import (
	"fmt"
	"time"
	"unicode/utf8"

	"github.com/schollz/progressbar/v3"

	"github.com/schedgen/schedgen/cast"
	"github.com/schedgen/schedgen/internal/words"
)

// castProgress shows on a terminal how far a cast has come.
type castProgress struct {
	bar   *progressbar.ProgressBar
	doing string
	names []string // of the receivers, from rank 1 on; none at a receiver
	room  int      // columns for what stands before the bar
	shown string   // there
}

// barRoom is how many columns the bar takes with its numbers, at least.
const barRoom = 40

// newCastProgress shows nothing but on a terminal; total is -1 if nobody knows it.
func newCastProgress(std stdio, total int64, doing string, names []string) *castProgress {
	if !isTerminal(std.Err) {
		return &castProgress{}
	}
	room := max(widthOf(std.Err)-barRoom, len(doing))
	return &castProgress{doing: doing, names: names, room: room, bar: progressbar.NewOptions64(max(total, -1),
		progressbar.OptionSetWriter(std.Err),
		progressbar.OptionSetDescription(doing),
		progressbar.OptionShowBytes(true),
		progressbar.OptionThrottle(200*time.Millisecond),
		progressbar.OptionClearOnFinish(),
		progressbar.OptionSetWidth(30),
	)}
}

// A bar that cannot be drawn is no reason to stop: errors of the terminal are left alone.

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

// describe returns what stands before the bar: as many of the slowest hosts are named as there is
// room for.
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

// squeeze returns a name and what is said of it, or the name alone, or its begin, in no more than
// so many columns, or nothing if those are too few.
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

// clear makes room for a line of output.
func (p *castProgress) clear() {
	if p.bar != nil {
		_ = p.bar.Clear()
	}
}
