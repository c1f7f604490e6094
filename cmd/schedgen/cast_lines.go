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

	"github.com/schedgen/schedgen/cast"
)

// castNews are the flags that say how much is told.
type castNews struct {
	Verbose bool   `short:"v" help:"Tell each step of each host."`
	Quiet   bool   `short:"q" help:"Print only what has failed."`
	LogDir  string `placeholder:"DIR" complete:"directory" help:"Directory for a log of each host, HOST.log, with all that is told of it."`
}

func (n *castNews) check() error {
	if n.Verbose && n.Quiet {
		return errors.New("--verbose and --quiet: give one of them")
	}
	return nil
}

// castLines prints the news of a cast: lines, and on a terminal below them one that changes, or a
// progress bar.
type castLines struct {
	std      stdio
	out      io.Writer // for the output of commands
	terminal bool      // the standard error is one, and is to have a line that changes
	news     castNews

	mu     sync.Mutex
	status string
	bar    *castProgress
	logs   map[string]*os.File
	failed bool // to write a log
}

// newCastLines returns a printer, which may have to make the directory of the logs. Close it.
func newCastLines(std stdio, asJSON bool, news castNews) (*castLines, error) {
	l := &castLines{std: std, out: std.Out, terminal: isTerminal(std.Err) && !news.Quiet, news: news, bar: new(castProgress), logs: map[string]*os.File{}}
	if asJSON { // the standard output is the object's
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

// wipe empties the line of a terminal that the cursor is in.
const wipe = "\r\x1b[K"

// tell prints an event. It is the cast's callback.
func (l *castLines) tell(e cast.Event) {
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

// log writes an event into its host's log. The first failure is told.
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
		return nil // it could not be opened, which was told
	}
	_, err := fmt.Fprintf(f, "%s %s\n", time.Now().Format(time.RFC3339), e.Text)
	return err
}

// logName returns the name of a host's log: the host's, without what a file's name cannot have.
func logName(host string) string {
	return strings.NewReplacer("/", "_", "\x00", "_").Replace(host) + ".log"
}

// warn prints a line that a user must see, however little is to be told.
func (l *castLines) warn(line string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.say(l.std.Err, line)
}

// say prints a line. An error of the terminal, or of a pipe that nobody reads, is no reason to stop
// a cast.
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

// show replaces the line that changes; "" removes it.
func (l *castLines) show(status string) {
	if l.terminal && status != l.status {
		l.status = status
		_, _ = io.WriteString(l.std.Err, wipe+status)
	}
}
