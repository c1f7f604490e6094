package cli

import (
	"time"

	"github.com/schollz/progressbar/v3"
)

// progress is a progress bar on the standard error. A nil bar shows nothing.
type progress struct{ bar *progressbar.ProgressBar }

// newProgress returns a bar of total steps with the text doing. It shows only on a terminal.
func newProgress(std stdio, total int, doing string, more ...progressbar.Option) progress {
	if total < 2 || !isTerminal(std.Err) {
		std.work.does(doing)
		return progress{}
	}
	std.work.end()
	return progress{progressbar.NewOptions(total, append([]progressbar.Option{
		progressbar.OptionSetWriter(std.Err),
		progressbar.OptionSetDescription(doing),
		progressbar.OptionShowCount(),
		progressbar.OptionThrottle(100 * time.Millisecond),
		progressbar.OptionClearOnFinish(),
		progressbar.OptionSetWidth(30),
	}, more...)...)}
}

// The methods ignore errors of the terminal: a bar that cannot be drawn is no reason to stop.

func (p progress) advance() {
	if p.bar != nil {
		_ = p.bar.Add(1)
	}
}

// add counts n steps.
func (p progress) add(n int) {
	if p.bar != nil && n > 0 {
		_ = p.bar.Add(n)
	}
}

// begin counts a step and shows the text of the next.
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

// newSpinner returns a line of progress with the text doing and without a known end. It shows only on a terminal.
func newSpinner(std stdio, doing string) progress {
	if !isTerminal(std.Err) {
		return progress{}
	}
	return progress{progressbar.NewOptions(-1,
		progressbar.OptionSetWriter(std.Err),
		progressbar.OptionThrottle(100*time.Millisecond),
		progressbar.OptionClearOnFinish(),
		progressbar.OptionSetSpinnerChangeInterval(0), // it changes with the text, so no goroutine is left
		progressbar.OptionSetDescription(doing),
	)}
}

// describe shows text and moves the spinner.
func (p progress) describe(text string) {
	if p.bar != nil {
		p.bar.Describe(text)
		_ = p.bar.Add(1)
	}
}
