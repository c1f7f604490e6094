package command

import (
	"time"

	"github.com/schollz/progressbar/v3"
)

// Progress is a progress bar on the standard error. A nil bar shows nothing.
type Progress struct{ bar *progressbar.ProgressBar }

// NewProgress returns a bar of total steps with the text doing. It shows only on a terminal.
func NewProgress(std Stdio, total int, doing string, more ...progressbar.Option) Progress {
	if total < 2 || !IsTerminal(std.Err) {
		std.work.does(doing)
		return Progress{}
	}
	std.work.end()
	return Progress{progressbar.NewOptions(total, append([]progressbar.Option{
		progressbar.OptionSetWriter(std.Err),
		progressbar.OptionSetDescription(doing),
		progressbar.OptionShowCount(),
		progressbar.OptionThrottle(100 * time.Millisecond),
		progressbar.OptionClearOnFinish(),
		progressbar.OptionSetWidth(30),
	}, more...)...)}
}

// The methods ignore errors of the terminal: a bar that cannot be drawn is no reason to stop.

func (p Progress) Advance() {
	if p.bar != nil {
		_ = p.bar.Add(1)
	}
}

// Add counts n steps.
func (p Progress) Add(n int) {
	if p.bar != nil && n > 0 {
		_ = p.bar.Add(n)
	}
}

// Begin counts a step and shows the text of the next.
func (p Progress) Begin(doing string) {
	if p.bar != nil {
		_ = p.bar.Add(1)
		p.bar.Describe(doing)
	}
}

// Clear makes room for a line of output.
func (p Progress) Clear() {
	if p.bar != nil {
		_ = p.bar.Clear()
	}
}

// NewSpinner returns a line of progress with the text doing and without a known end. It shows only on a terminal.
func NewSpinner(std Stdio, doing string) Progress {
	if !IsTerminal(std.Err) {
		return Progress{}
	}
	return Progress{progressbar.NewOptions(-1,
		progressbar.OptionSetWriter(std.Err),
		progressbar.OptionThrottle(100*time.Millisecond),
		progressbar.OptionClearOnFinish(),
		progressbar.OptionSetSpinnerChangeInterval(0), // it changes with the text, so no goroutine is left
		progressbar.OptionSetDescription(doing),
	)}
}

// Describe shows text and moves the spinner.
func (p Progress) Describe(text string) {
	if p.bar != nil {
		p.bar.Describe(text)
		_ = p.bar.Add(1)
	}
}
