package ir

import (
	"fmt"
	"io"
	"strconv"
)

// eof is what peek returns at the end of the input.
const eof = -1

// maxQuote is the number of input bytes that an error message shows.
const maxQuote = 24

// source reads its input byte by byte through a small buffer and keeps the position. It keeps the
// first error, and from then on behaves as if the input had ended. So a parser need not check for
// errors after every step.
type source struct {
	r         io.Reader
	store     []byte // storage of buf
	buf       []byte // the part of the input that is in memory
	pos       int    // next byte of buf
	base      int64  // offset of buf
	line      int
	lineStart int64         // offset of the current line
	readErr   error         // why r ended, nil at a clean end
	path      func() string // returns the place in the document, for errors; may be nil
	err       *ParseError
	run       [maxQuote]byte // the last digits read
}

func newSource(r io.Reader) source {
	return source{r: r, store: make([]byte, 1<<15), line: 1}
}

// mark is a position in the input.
type mark struct {
	offset, lineStart int64
	line              int
}

func (s *source) mark() mark {
	return mark{offset: s.base + int64(s.pos), lineStart: s.lineStart, line: s.line}
}

// ok reports whether nothing has failed.
func (s *source) ok() bool { return s.err == nil }

// peek returns the next byte, or eof.
func (s *source) peek() int {
	if s.pos < len(s.buf) {
		return int(s.buf[s.pos])
	}
	return s.fill()
}

// skip consumes the byte that peek returned.
func (s *source) skip() { s.pos++ }

// newline consumes the line feed that peek returned.
func (s *source) newline() {
	s.skip()
	s.line++
	s.lineStart = s.base + int64(s.pos)
}

// fill reads more input and returns the next byte, or eof.
func (s *source) fill() int {
	s.base += int64(len(s.buf))
	s.buf, s.pos = nil, 0
	for range 100 {
		if s.r == nil {
			return eof
		}
		n, err := s.r.Read(s.store)
		if err != nil {
			s.r = nil
			if err != io.EOF {
				s.readErr = err
			}
		}
		if n > 0 {
			s.buf = s.store[:n]
			return int(s.buf[0])
		}
	}
	s.r, s.readErr = nil, io.ErrNoProgress
	return eof
}

// end fails unless the input is at its end.
func (s *source) end(after string) {
	m := s.mark()
	if s.peek() != eof {
		s.unexpected(m, "the end of the input after "+after, "")
	} else if s.readErr != nil {
		s.failAt(m, "") // failAt uses the reader's error
	}
}

// failAt records a fault at m, unless there is one already, and ends the input.
func (s *source) failAt(m mark, format string, args ...any) {
	if s.err != nil {
		return
	}
	s.err = &ParseError{
		Line: m.line, Col: int(m.offset-m.lineStart) + 1, Offset: m.offset,
		Msg: fmt.Sprintf(format, args...),
	}
	if s.path != nil {
		s.err.Path = s.path()
	}
	if s.readErr != nil {
		s.err.Msg, s.err.Err = "reading the input: "+s.readErr.Error(), s.readErr
	}
	s.base += int64(s.pos)
	s.r, s.buf, s.pos = nil, nil, 0
}

// unexpected fails at m. read is the input from m on that the caller has consumed.
func (s *source) unexpected(m mark, want, read string) {
	if s.err != nil {
		return
	}
	found, atEnd := s.found(read)
	s.failAt(m, "expected %s, found %s", want, found)
	if atEnd && s.err.Err == nil {
		s.err.Err = io.ErrUnexpectedEOF
	}
}

// found describes the input for an error. read is the part that has been consumed already. found
// consumes what it shows.
func (s *source) found(read string) (text string, atEnd bool) {
	c := s.peek()
	if read == "" {
		switch c {
		case eof:
			return "the end of the input", true
		case '\n':
			return "the end of the line", false
		}
	}
	shown := []byte(read)
	for c != eof && c != '\n' && len(shown) < maxQuote && (len(shown) == 0 || !endsWord(c)) {
		shown = append(shown, byte(c))
		s.skip()
		c = s.peek()
	}
	text = strconv.Quote(string(shown))
	if atEnd = c == eof && len(shown) == len(read); atEnd {
		text += " and the end of the input"
	}
	return text, atEnd
}

func endsWord(c int) bool {
	switch c {
	case ' ', '\t', '\r', ',', ':', ']', '}':
		return true
	}
	return false
}

// number consumes a decimal number in canonical spelling in lo … hi. A fault is reported at m. what
// says what the number counts, such as "rank", and may be empty.
func (s *source) number(m mark, what string, lo, hi int) int {
	v, n := 0, 0
	for c := s.peek(); c != eof && isDigit(byte(c)) && n < len(s.run); c = s.peek() {
		s.run[n] = byte(c)
		n++
		v = min(v*10+(c-'0'), hi+1)
		s.skip()
	}
	switch {
	case n == 0:
		s.unexpected(m, article(what), "")
	case n > 1 && s.run[0] == '0':
		s.failAt(m, "%s%s has leading zeros", prefix(what), s.run[:n])
	case v < lo || v > hi:
		s.failAt(m, "%s%s is out of range %d … %d", prefix(what), shorten(s.run[:n]), lo, hi)
	}
	return v
}

func article(what string) string {
	if what == "" {
		return "a number"
	}
	return "a number for " + what
}

func prefix(what string) string {
	if what == "" {
		return ""
	}
	return what + " "
}

// shorten returns digits as text. It appends "…" if they may have been cut off.
func shorten(digits []byte) string {
	if len(digits) == maxQuote {
		return string(digits) + "…"
	}
	return string(digits)
}
