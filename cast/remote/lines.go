package remote

import (
	"bytes"
	"sync"
)

// lines is a writer that passes on lines and remembers the last one that says anything.
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
		at := bytes.IndexByte(b, '\n')
		whole := at >= 0
		if !whole {
			at = len(b)
		}
		room := maxLine - len(l.part)
		if at > room { // a long line comes in parts
			at, whole = room, false
		}
		l.part = append(l.part, b[:at]...)
		b = b[at:]
		if whole {
			b = b[1:]
		}
		if whole || len(l.part) == maxLine {
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
