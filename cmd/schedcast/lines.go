package main

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"github.com/schedgen/schedgen/internal/cast"
	"github.com/schedgen/schedgen/internal/command/syntax"
	"github.com/schedgen/schedgen/internal/terminal"
)

// newsFlags are the flags that say how much is printed.
type newsFlags struct {
	Verbose, Quiet bool
	LogDir         string
}

func (n *newsFlags) add(v *verb) {
	v.add(yes(&n.Verbose), syntax.Value{Name: "verbose", Short: 'v', Bool: true, Help: "Print each step of each host."})
	v.add(yes(&n.Quiet), syntax.Value{Name: "quiet", Short: 'q', Bool: true, Help: "Print failures only."})
	v.add(text(&n.LogDir), syntax.Value{Name: "log-dir", Placeholder: "DIR", Help: "Directory for a log of each host, HOST.log, with everything that is printed about it.", Complete: "directory", Expert: true})
}

func (n *newsFlags) check() error {
	if n.Verbose && n.Quiet {
		return errors.New("--verbose and --quiet: give only one of them")
	}
	return nil
}

// printer prints the events of a cast as lines. On a terminal, a status line or a progress bar is
// below them.
type printer struct {
	std      terminal.Stdio
	out      io.Writer // for the output of commands
	terminal bool      // the standard error is a terminal, and gets a status line
	news     newsFlags

	mu     sync.Mutex
	status string
	bar    *progress
	logs   map[string]*os.File
	failed bool // a log could not be written
}

// newPrinter returns a printer. It makes the directory of the logs if there are to be logs. The
// caller must close the printer.
func newPrinter(std terminal.Stdio, asJSON bool, news newsFlags) (*printer, error) {
	l := &printer{std: std, out: std.Out, terminal: terminal.IsTerminal(std.Err) && !news.Quiet, news: news, bar: new(progress), logs: map[string]*os.File{}}
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
func (l *printer) close() error {
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

// printEvent prints an event. The cast calls it.
func (l *printer) printEvent(e cast.Event) {
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
			l.bar = newProgress(l.std, e.Total, e.Text, e.Hosts)
		}
	case cast.RoundProgress:
		l.bar.show(e.Progress)
	case cast.RoundEnds:
		l.bar.clear()
		l.bar = new(progress)
	}
}

// log writes an event into its host's log. It prints only the first failure.
func (l *printer) log(e cast.Event) {
	if l.news.LogDir == "" || e.Host == "" {
		return
	}
	err := l.write(e)
	if err != nil && !l.failed {
		l.failed = true
		l.say(l.std.Err, fmt.Sprintf("--log-dir: %v", err))
	}
}

func (l *printer) write(e cast.Event) error {
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
func (l *printer) warn(line string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.say(l.std.Err, line)
}

// say prints a line. It ignores errors, because a broken terminal or pipe must not stop a cast.
func (l *printer) say(w io.Writer, line string) {
	l.bar.clear()
	if l.terminal && l.status != "" {
		_, _ = io.WriteString(l.std.Err, terminal.Wipe)
	}
	_, _ = io.WriteString(w, line+"\n")
	if l.status != "" {
		_, _ = io.WriteString(l.std.Err, l.status)
	}
}

// show replaces the status line. An empty status removes it.
func (l *printer) show(status string) {
	if l.terminal && status != l.status {
		l.status = status
		_, _ = io.WriteString(l.std.Err, terminal.Wipe+status)
	}
}
