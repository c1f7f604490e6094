package main

import (
	"bufio"
	"io"
	"sync"
)

// castLines prints lines of many goroutines, and on a terminal one below them that changes.
type castLines struct {
	out, err io.Writer // of commands
	terminal bool      // err is one

	mu     sync.Mutex
	status string
}

func newCastLines(std stdio, asJSON bool) *castLines {
	l := &castLines{out: std.Out, err: std.Err, terminal: isTerminal(std.Err)}
	if asJSON { // the standard output is the object's
		l.out = std.Err
	}
	return l
}

// wipe empties the line of a terminal that the cursor is in.
const wipe = "\r\x1b[K"

// print prints a line of a host.
func (l *castLines) print(w io.Writer, host, line string) { l.say(w, host+": "+line) }

// say prints a line. An error of the terminal, or of a pipe that nobody reads, is no reason to stop a cast.
func (l *castLines) say(w io.Writer, line string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.terminal {
		_, _ = io.WriteString(l.err, wipe)
	}
	_, _ = io.WriteString(w, line+"\n")
	if l.status != "" {
		_, _ = io.WriteString(l.err, l.status)
	}
}

// show replaces the line that changes; "" removes it.
func (l *castLines) show(status string) {
	if !l.terminal {
		return
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if status != l.status {
		l.status = status
		_, _ = io.WriteString(l.err, wipe+status)
	}
}

// maxLine bounds a line that comes from a host, in bytes; a longer one is printed as several.
const maxLine = 4 << 10

// copy prints what comes, line by line, up to its end.
func (l *castLines) copy(w io.Writer, host string, from io.Reader) {
	r := bufio.NewReaderSize(from, maxLine)
	for {
		line, _, err := r.ReadLine()
		if err != nil {
			return // the session says how it has ended
		}
		l.print(w, host, string(line))
	}
}
