//go:build linux

package guests

import (
	"bytes"
	"io"
	"sync"
)

// longest is the number of bytes of a line from which on lines does not wait for the line's end.
const longest = 1 << 16

// lines writes a text line by line, each with a prefix, so that lines of several writers do not
// mix. Writers that share out share the lock.
type lines struct {
	mu     *sync.Mutex
	out    io.Writer
	prefix string
	seen   []func(line []byte) // called with every line
	begun  []byte              // the beginning of a line without its end
}

func (l *lines) Write(data []byte) (int, error) {
	l.begun = append(l.begun, data...)
	for {
		end := bytes.IndexByte(l.begun, '\n')
		switch {
		case end < 0 && len(l.begun) < longest:
			return len(data), nil
		case end < 0:
			end = len(l.begun)
			l.begun = append(l.begun, '\n')
		}
		if err := l.writeLine(l.begun[:end+1]); err != nil {
			return 0, err
		}
		l.begun = append(l.begun[:0], l.begun[end+1:]...)
	}
}

// flush writes the last line, if its end has not come.
func (l *lines) flush() error {
	if len(l.begun) == 0 {
		return nil
	}
	line := append(l.begun, '\n')
	l.begun = nil
	return l.writeLine(line)
}

func (l *lines) writeLine(line []byte) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, seen := range l.seen {
		seen(line)
	}
	_, err := l.out.Write(append([]byte(l.prefix), line...))
	return err
}
