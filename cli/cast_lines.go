package cli

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"github.com/schedgen/schedgen/cast"
	"github.com/schedgen/schedgen/internal/command"
)

// castNews holds the flags that say how much is printed.
type castNews struct {
	Verbose bool   `short:"v" help:"Print each step of each host."`
	Quiet   bool   `short:"q" help:"Print failures only."`
	LogDir  string `placeholder:"DIR" complete:"directory" help:"Directory for a log of each host, HOST.log, with everything that is printed about it."`
}

func (n *castNews) check() error {
	if n.Verbose && n.Quiet {
		return errors.New("--verbose and --quiet: give only one of them")
	}
	return nil
}

// castLines prints the events of a cast as lines. On a terminal, a status line or a progress bar is
// below them.
type castLines struct {
	std      command.Stdio
	out      io.Writer // for the output of commands
	terminal bool      // the standard error is a terminal, and gets a status line
	news     castNews

	mu     sync.Mutex
	status string
	bar    *castProgress
	logs   map[string]*os.File
	failed bool // a log could not be written
}

// newCastLines returns a printer. It makes the directory of the logs if there are to be logs. The
// caller must close the printer.
func newCastLines(std command.Stdio, asJSON bool, news castNews) (*castLines, error) {
	l := &castLines{std: std, out: std.Out, terminal: command.IsTerminal(std.Err) && !news.Quiet, news: news, bar: new(castProgress), logs: map[string]*os.File{}}
	if asJSON { // the standard output is for the object
		l.out = std.Err
	}
	if news.LogDir != "" {
		if err := os.MkdirAll(news.LogDir, 0o777); err != nil {
			return nil, fmt.Errorf("--log-dir: %w", err)
		}
	}
	return l, nil
}

// close closes the logs.
func (l *castLines) close() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	var err error
	for _, f := range l.logs {
		if f != nil {
			err = errors.Join(err, f.Close())
		}
	}
	return err
}

// wipe erases the current line of a terminal.
const wipe = "\r\x1b[K"

// printEvent prints an event. The cast calls it.
func (l *castLines) printEvent(e cast.Event) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.log(e)
	text := e.Text
	if e.Host != "" {
		text = e.Host + ": " + text
	}
	switch e.Kind {
	case cast.Notice:
		if !l.news.Quiet {
			l.say(l.std.Err, text)
		}
	case cast.Detail:
		if l.news.Verbose {
			l.say(l.std.Err, text)
		}
	case cast.ErrorOutput:
		l.say(l.std.Err, text)
	case cast.Output:
		l.say(l.out, text)
	case cast.Status:
		l.show(text)
	case cast.RoundBegins:
		if !l.news.Quiet {
			l.bar = newCastProgress(l.std, e.Total, e.Text, e.Hosts)
		}
	case cast.RoundProgress:
		l.bar.show(e.Progress)
	case cast.RoundEnds:
		l.bar.clear()
		l.bar = new(castProgress)
	}
}

// log writes an event into its host's log. It prints only the first failure.
func (l *castLines) log(e cast.Event) {
	if l.news.LogDir == "" || e.Host == "" {
		return
	}
	err := l.write(e)
	if err != nil && !l.failed {
		l.failed = true
		l.say(l.std.Err, fmt.Sprintf("--log-dir: %v", err))
	}
}

func (l *castLines) write(e cast.Event) error {
	name := logName(e.Host)
	f, known := l.logs[name]
	if !known {
		var err error
		f, err = os.OpenFile(filepath.Join(l.news.LogDir, name), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o666)
		if l.logs[name] = f; err != nil {
			return err
		}
	}
	if f == nil {
		return nil // the log could not be opened, which was printed
	}
	_, err := fmt.Fprintf(f, "%s %s\n", time.Now().Format(time.RFC3339), e.Text)
	return err
}

// logName returns the file name of a host's log. It replaces characters that a file name cannot
// have.
func logName(host string) string {
	return strings.NewReplacer("/", "_", "\x00", "_").Replace(host) + ".log"
}

// warn prints a line even if the user wants few lines.
func (l *castLines) warn(line string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.say(l.std.Err, line)
}

// say prints a line. It ignores errors, because a broken terminal or pipe must not stop a cast.
func (l *castLines) say(w io.Writer, line string) {
	l.bar.clear()
	if l.terminal && l.status != "" {
		_, _ = io.WriteString(l.std.Err, wipe)
	}
	_, _ = io.WriteString(w, line+"\n")
	if l.status != "" {
		_, _ = io.WriteString(l.std.Err, l.status)
	}
}

// show replaces the status line. An empty status removes it.
func (l *castLines) show(status string) {
	if l.terminal && status != l.status {
		l.status = status
		_, _ = io.WriteString(l.std.Err, wipe+status)
	}
}
