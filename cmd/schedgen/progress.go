package main

import (
	"time"

	"github.com/schollz/progressbar/v3"
)

// progress is a bar on the standard error while much is done; a nil bar shows
// nothing.
type progress struct{ bar *progressbar.ProgressBar }

// newProgress returns a bar of total steps, which shows only on a terminal, and
// says what is done.
func newProgress(std stdio, total int, doing string, more ...progressbar.Option) progress {
	if total < 2 || !isTerminal(std.Err) {
		return progress{}
	}
	return progress{progressbar.NewOptions(total, append([]progressbar.Option{
		progressbar.OptionSetWriter(std.Err),
		progressbar.OptionSetDescription(doing),
		progressbar.OptionShowCount(),
		progressbar.OptionThrottle(100 * time.Millisecond),
		progressbar.OptionClearOnFinish(),
		progressbar.OptionSetWidth(30),
	}, more...)...)}
}

// A bar that cannot be drawn is no reason to stop: errors of the terminal are
// left alone.

func (p progress) advance() {
	if p.bar != nil {
		_ = p.bar.Add(1)
	}
}

// begin says what is done next, and counts it.
func (p progress) begin(doing string) {
	if p.bar != nil {
		_ = p.bar.Add(1)
		p.bar.Describe(doing)
	}
}

// clear makes room for a line of output.
func (p progress) clear() {
	if p.bar != nil {
		_ = p.bar.Clear()
	}
}
