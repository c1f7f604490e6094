package main

import (
	"fmt"
	"time"

	"github.com/schollz/progressbar/v3"

	"github.com/schedgen/schedgen/cast"
)

// castProgress shows on a terminal how far a cast has come.
type castProgress struct {
	bar    *progressbar.ProgressBar
	doing  string
	failed int
}

// newCastProgress shows nothing but on a terminal; total is -1 if nobody knows it.
func newCastProgress(std stdio, total int64, doing string) *castProgress {
	if !isTerminal(std.Err) {
		return &castProgress{}
	}
	return &castProgress{doing: doing, bar: progressbar.NewOptions64(max(total, -1),
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
	if at.Failed != p.failed {
		p.failed = at.Failed
		p.bar.Describe(fmt.Sprintf("%s, %d failed", p.doing, at.Failed))
	}
	_ = p.bar.Set64(at.Bytes)
}

// clear makes room for a line of output.
func (p *castProgress) clear() {
	if p.bar != nil {
		_ = p.bar.Clear()
	}
}
