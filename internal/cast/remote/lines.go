package remote

import (
	"bytes"
	"fmt"
	"strings"
	"sync"
)

// lines is a writer that passes on each line, and remembers the last one that is not blank. It
// passes on a line of more than maxLine bytes in parts.
type lines struct {
	say   func(line string) // may be nil
	login string            // command that connects to the host, as a shell reads it

	mu   sync.Mutex
	part []byte
	last string
	key  string // message that the host's key differs from the known one
}

func (l *lines) Write(b []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	n := len(b)
	for len(b) > 0 {
		next := b[:min(len(b), maxLine-len(l.part))]
		at := bytes.IndexByte(next, '\n')
		switch {
		case len(next) == 0: // the line has the greatest length
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
		if strings.Contains(clean, keyChanged) || l.key != "" && strings.HasPrefix(clean, "Offending ") {
			l.key = clean
		}
	}
	if l.say != nil {
		l.say(line)
	}
}

// Messages of ssh about host keys.
const (
	keyChanged = "REMOTE HOST IDENTIFICATION HAS CHANGED"
	keyRefused = "Host key verification failed."
)

// reason returns why ssh has ended, by its last line. ssh ends with the same line if a host's key
// is unknown and if it has changed; reason tells the two apart. The caller writes no more.
func (l *lines) reason() string {
	last := l.end()
	switch {
	case last != keyRefused:
		return last
	case l.key != "":
		return fmt.Sprintf("its host key has changed, so somebody may be in between (%s); if it has a new key, run ssh-keygen -R for it", l.key)
	}
	return fmt.Sprintf("its host key is not known here: connect once with %s and check the key", l.login)
}

// end returns the last line. The caller writes no more.
func (l *lines) end() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	if len(l.part) > 0 {
		l.flush()
	}
	return l.last
}
