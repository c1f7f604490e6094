package remote

import (
	"bytes"
	"sync"
)

// lines is a writer that passes on lines, one of more than maxLine bytes in parts, and remembers the last that says anything.
type lines struct {
	say func(line string) // may be nil

	mu   sync.Mutex
	part []byte
	last string
}

func (l *lines) Write(b []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	n := len(b)
	for len(b) > 0 {
		next := b[:min(len(b), maxLine-len(l.part))]
		at := bytes.IndexByte(next, '\n')
		switch {
		case len(next) == 0: // the line is as long as it may be
			b = bytes.TrimPrefix(b, []byte("\n"))
			l.flush()
		case at < 0:
			l.part = append(l.part, next...)
			b = b[len(next):]
		default:
			l.part = append(l.part, next[:at]...)
			b = b[at+1:]
			l.flush()
		}
	}
	return n, nil
}

// flush ends a line.
func (l *lines) flush() {
	line := string(bytes.TrimRight(l.part, "\r"))
	l.part = l.part[:0]
	if clean := cleanLine(line); clean != "" {
		l.last = clean
	}
	if l.say != nil {
		l.say(line)
	}
}

// end returns the last line; nothing is written any more.
func (l *lines) end() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	if len(l.part) > 0 {
		l.flush()
	}
	return l.last
}
