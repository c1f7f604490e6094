package goal

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"

	"github.com/schedgen/schedgen/ir"
)

// Bounds of the input.
const (
	maxWord  = 64        // bytes of a label or number
	maxOps   = 1 << 24   // operations of all ranks
	maxEdges = 1 << 26   // requires lines of all ranks
	maxBytes = 1 << 48   // of a message
	maxTime  = 1 << 48   // of a calculation, ns: some 78 hours
	maxTag   = 1<<31 - 1 // also of cpu and nic
)

// kind is the kind of a token.
type kind uint8

const (
	tokenEnd kind = iota // the end of the file
	tokenLine
	tokenWord
	tokenNumber
	tokenMark // one of : { } -
)

// token is one word, number or mark, and the place where it starts.
type token struct {
	kind      kind
	text      string
	number    int
	line, col int
}

// scanner cuts the input into tokens. It keeps the first error, and behaves from then on as if the
// input had ended.
type scanner struct {
	r         *bufio.Reader
	line, col int // of the next byte
	word      []byte
	err       error
	remarks   bool // read the message's length from comments
	message   int  // bytes of the message according to a comment, else 0
}

func newScanner(r io.Reader) *scanner {
	return &scanner{r: bufio.NewReader(r), line: 1, col: 1, remarks: true}
}

func (s *scanner) failAt(line, col int, format string, args ...any) {
	if s.err == nil {
		s.err = &ir.ParseError{Line: line, Col: col, Msg: fmt.Sprintf(format, args...)}
	}
}

// peek returns the next byte, 0 at the end.
func (s *scanner) peek() byte {
	if s.err != nil {
		return 0
	}
	b, err := s.r.Peek(1)
	switch {
	case err == nil && b[0] == 0:
		s.failAt(s.line, s.col, "a zero byte: the input is not text")
	case err == nil:
		return b[0]
	case !errors.Is(err, io.EOF):
		s.err = &ir.ParseError{Line: s.line, Col: s.col, Msg: "reading the input: " + err.Error(), Err: err}
	}
	return 0
}

func (s *scanner) skip() {
	b, err := s.r.ReadByte()
	switch {
	case err != nil:
	case b == '\n':
		s.line, s.col = s.line+1, 1
	default:
		s.col++
	}
}

// next returns the next token. It skips white space and comments.
func (s *scanner) next() token {
	s.blanks()
	t := token{line: s.line, col: s.col}
	switch c := s.peek(); {
	case c == 0:
	case c == '\n':
		t.kind = tokenLine
		s.skip()
	case isLetter(c):
		t.kind, t.text = tokenWord, s.takeWhile(isWord)
	case isDigit(c):
		t.kind, t.text = tokenNumber, s.takeWhile(isDigit)
		t.number = s.value(t)
	case c == ':' || c == '{' || c == '}' || c == '-':
		t.kind, t.text = tokenMark, string(c)
		s.skip()
	default:
		s.failAt(t.line, t.col, "%q does not belong here", c)
	}
	return t
}

// blanks skips spaces and comments.
func (s *scanner) blanks() {
	for {
		switch s.peek() {
		case ' ', '\t', '\r':
			s.skip()
		case '/':
			s.comment()
		default:
			return
		}
	}
}

// comment skips a comment. It leaves the end of the line behind a // comment.
func (s *scanner) comment() {
	line, col := s.line, s.col
	s.skip()
	switch s.peek() {
	case '/':
		s.lineComment()
	case '*':
		s.skip()
		for last := byte(0); ; {
			c := s.peek()
			if c == 0 {
				s.failAt(line, col, "the comment that starts here has no end")
				return
			}
			s.skip()
			if last == '*' && c == '/' {
				return
			}
			last = c
		}
	default:
		s.failAt(line, col, "%q starts no comment", '/')
	}
}

// lineComment skips the rest of a line, and takes the length of the message from it. The first
// comment with a length counts.
func (s *scanner) lineComment() {
	s.skip()
	s.word = s.word[:0]
	for c := s.peek(); c != 0 && c != '\n'; c = s.peek() {
		if len(s.word) <= maxWord {
			s.word = append(s.word, c)
		}
		s.skip()
	}
	if s.remarks && s.message == 0 && len(s.word) <= maxWord {
		s.message = messageIn(string(s.word))
	}
}

// messageIn returns the length of the message that a comment states, or 0.
func messageIn(comment string) int {
	rest, tells := strings.CutPrefix(strings.TrimSpace(comment), "message: ")
	digits, bytes := strings.CutSuffix(rest, "b")
	n, err := strconv.Atoi(digits)
	if !tells || !bytes || err != nil || n < 0 || n > maxBytes {
		return 0
	}
	return n
}

// takeWhile consumes the longest run of bytes for which belongs is true.
func (s *scanner) takeWhile(belongs func(byte) bool) string {
	line, col := s.line, s.col
	s.word = s.word[:0]
	for c := s.peek(); c != 0 && belongs(c); c = s.peek() {
		if len(s.word) == maxWord {
			s.failAt(line, col, "%s… is longer than %d bytes", s.word[:maxWord/4], maxWord)
			break
		}
		s.word = append(s.word, c)
		s.skip()
	}
	return string(s.word)
}

// value returns the number that a token of digits spells. It returns maxBytes+1, which is out of
// every range, for all larger numbers.
func (s *scanner) value(t token) int {
	v := 0
	for i := range len(t.text) {
		if v = v*10 + int(t.text[i]-'0'); v > maxBytes {
			return maxBytes + 1
		}
	}
	return v
}

func isLetter(c byte) bool { return 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z' }
func isDigit(c byte) bool  { return '0' <= c && c <= '9' }
func isWord(c byte) bool   { return isLetter(c) || isDigit(c) || c == '_' }

// spell describes a token in an error text.
func (t token) spell() string {
	switch t.kind {
	case tokenEnd:
		return "the end of the file"
	case tokenLine:
		return "the end of the line"
	}
	return fmt.Sprintf("%q", t.text)
}
