package main

import (
	"time"

	"github.com/schollz/progressbar/v3"
)

// progress is a bar on the standard error while many schedules are proved; a
// nil bar shows nothing.
type progress struct{ bar *progressbar.ProgressBar }

// newProgress returns a bar of total steps, which shows only on a terminal.
func newProgress(std stdio, total int) progress {
	if total < 2 || !isTerminal(std.Err) {
		return progress{}
	}
	return progress{progressbar.NewOptions(total,
		progressbar.OptionSetWriter(std.Err),
		progressbar.OptionSetDescription("proving"),
		progressbar.OptionShowCount(),
		progressbar.OptionThrottle(100*time.Millisecond),
		progressbar.OptionClearOnFinish(),
		progressbar.OptionSetWidth(30),
	)}
}

// A bar that cannot be drawn is no reason to stop: errors of the terminal are
// left alone.

func (p progress) advance() {
	if p.bar != nil {
		_ = p.bar.Add(1)
	}
}

// clear makes room for a line of output.
func (p progress) clear() {
	if p.bar != nil {
		_ = p.bar.Clear()
	}
}
