package terminal

import (
	"fmt"
	"io"
	"strings"
	"sync"
	"time"
	"unicode/utf8"

	"github.com/schedgen/schedgen/internal/words"
)

// Progress is a line of progress on the standard error. The zero value shows nothing.
type Progress struct{ line *line }

// NewProgress returns a bar of total steps with the text doing. It shows only on a terminal.
func NewProgress(std Stdio, total int, doing string) Progress {
	if total < 2 || !IsTerminal(std.Err) {
		std.work.does(doing)
		return Progress{}
	}
	std.work.end()
	p := Progress{&line{out: std.Err, width: WidthOf(std.Err), total: int64(total), doing: doing}}
	p.line.draw()
	return p
}

// NewBytes returns a bar of total bytes with the text doing. A negative total is not known. It shows
// only on a terminal.
func NewBytes(std Stdio, total int64, doing string) Progress {
	if !IsTerminal(std.Err) {
		return Progress{}
	}
	return Progress{&line{out: std.Err, width: WidthOf(std.Err), total: max(total, 0), bytes: true, doing: doing}}
}

// NewSpinner returns a line of progress with the text doing and without a known end. It shows only
// on a terminal.
func NewSpinner(std Stdio, doing string) Progress {
	if !IsTerminal(std.Err) {
		return Progress{}
	}
	return Progress{newSpinner(std.Err, doing)}
}

func newSpinner(out io.Writer, doing string) *line {
	return &line{out: out, width: WidthOf(out), doing: doing}
}

// Advance counts a step.
func (p Progress) Advance() { p.Add(1) }

// Add counts n steps.
func (p Progress) Add(n int) {
	if n > 0 {
		p.line.change(func(l *line) bool { l.done += int64(n); return false })
	}
}

// Set sets the number of steps or bytes.
func (p Progress) Set(done int64) {
	p.line.change(func(l *line) bool { l.done = done; return false })
}

// Begin counts a step and shows the text of the next.
func (p Progress) Begin(doing string) {
	p.line.change(func(l *line) bool { l.done++; l.doing = doing; return true })
}

// Describe shows text and moves a spinner.
func (p Progress) Describe(text string) {
	p.line.change(func(l *line) bool { l.doing = text; l.turns++; return true })
}

// Clear makes room for a line of output.
func (p Progress) Clear() {
	if p.line != nil {
		p.line.mu.Lock()
		defer p.line.mu.Unlock()
		p.line.clear()
	}
}

// Wipe erases the current line of a terminal.
const Wipe = "\r\x1b[K"

const (
	throttle = 100 * time.Millisecond // least time between two drawings of a number
	barWidth = 30                     // greatest number of columns of a bar
)

// line is a line of progress. The methods ignore errors of the terminal: a line that cannot be drawn
// is no reason to stop.
type line struct {
	out   io.Writer
	width int   // columns of the terminal
	total int64 // steps or bytes; 0: not known
	bytes bool  // counts bytes

	mu    sync.Mutex
	doing string
	done  int64
	turns int       // of a spinner
	began time.Time // when the line was first drawn
	drawn time.Time
	shown bool
}

// change changes the line and draws it: at once if change returns true, else from time to time. A
// line whose steps are all done disappears.
func (l *line) change(change func(*line) (atOnce bool)) {
	if l == nil {
		return
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	atOnce := change(l)
	switch {
	case l.total > 0 && l.done >= l.total:
		l.clear()
	case atOnce || time.Since(l.drawn) >= throttle:
		l.draw()
	}
}

func (l *line) clear() {
	if l.shown {
		l.shown = false
		_, _ = io.WriteString(l.out, Wipe)
	}
}

func (l *line) draw() {
	l.drawn, l.shown = time.Now(), true
	if l.began.IsZero() {
		l.began = l.drawn
	}
	_, _ = io.WriteString(l.out, Wipe+l.text(l.drawn.Sub(l.began)))
}

// text returns the line as it is after some time.
func (l *line) text(took time.Duration) string {
	numbers := l.numbers(took)
	if l.total == 0 {
		return cut(strings.TrimRight(l.doing+"  "+numbers, " "), l.width-1)
	}
	before := fmt.Sprintf("%s %3d%% ", l.doing, 100*l.done/l.total)
	room := min(barWidth, l.width-1-utf8.RuneCountInString(before+"[] "+numbers))
	if room < 1 {
		return cut(before+numbers, l.width-1)
	}
	full := int(int64(room) * l.done / l.total)
	return before + "[" + strings.Repeat("#", full) + strings.Repeat(" ", room-full) + "] " + numbers
}

// numbers returns the text that follows the bar.
func (l *line) numbers(took time.Duration) string {
	switch {
	case l.bytes && l.total > 0:
		return fmt.Sprintf("%s/%s, %s", words.Bytes(float64(l.done)), words.Bytes(float64(l.total)), l.rate(took))
	case l.bytes:
		return words.Bytes(float64(l.done)) + ", " + l.rate(took)
	case l.total > 0:
		return fmt.Sprintf("%d/%d", l.done, l.total)
	}
	return `|/-\`[l.turns%4 : l.turns%4+1]
}

func (l *line) rate(took time.Duration) string {
	return words.Bytes(float64(l.done)/max(took.Seconds(), throttle.Seconds())) + "/s"
}

// cut returns text without what is beyond so many columns.
func cut(text string, columns int) string {
	if all := []rune(text); len(all) > columns {
		return string(all[:max(columns, 0)])
	}
	return text
}
