package ir

import (
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// maxString bounds a string of the document, in bytes with its escapes. The longest legal string is
// a name of MaxName bytes, each as an escape of six.
const maxString = 6 * MaxName

// jsonScanner reads the values of a JSON document whose structure its caller knows. It keeps the
// path of the current value. It buffers one string and nothing else.
type jsonScanner struct {
	source
	steps []step
	text  []byte // the last string read
}

// step is one element of a path: the name of a member or an index.
type step struct {
	name  string
	index int // if name is empty
}

func (p *jsonScanner) push(name string, index int) {
	p.steps = append(p.steps, step{name, index})
}

func (p *jsonScanner) pop() { p.steps = p.steps[:len(p.steps)-1] }

// where returns the current path: programs[3].rules[1].do[0].to.
func (p *jsonScanner) where() string {
	var b strings.Builder
	for i, s := range p.steps {
		switch {
		case s.name == "":
			b.WriteString("[" + strconv.Itoa(s.index) + "]")
		case i > 0:
			b.WriteString("." + s.name)
		default:
			b.WriteString(s.name)
		}
	}
	if b.Len() == 0 {
		return "document"
	}
	return b.String()
}

// nextValue skips white space and returns the position of the next value.
func (p *jsonScanner) nextValue() mark {
	for {
		switch p.peek() {
		case ' ', '\t', '\r':
			p.skip()
		case '\n':
			p.newline()
		default:
			return p.mark()
		}
	}
}

// open consumes the bracket that starts an object or array.
func (p *jsonScanner) open(bracket int, what string) {
	m := p.nextValue()
	if p.peek() != bracket {
		p.unexpected(m, what, "")
		return
	}
	p.skip()
}

// more reports whether an object or array continues after n elements. It consumes the comma or the
// closing bracket.
func (p *jsonScanner) more(n int, closing int) bool {
	m := p.nextValue()
	switch c := p.peek(); {
	case c == closing:
		p.skip()
		return false
	case n == 0 && c != eof:
		return true
	case n > 0 && c == ',':
		p.skip()
		return true
	}
	p.unexpected(m, fmt.Sprintf(`"," or %q`, string(rune(closing))), "")
	return false
}

// array reads an array. It calls element to read element i.
func (p *jsonScanner) array(element func(i int)) {
	p.open('[', "an array")
	for n := 0; p.ok() && p.more(n, ']'); n++ {
		p.push("", n)
		element(n)
		if !p.ok() {
			return
		}
		p.pop()
	}
}

// object reads an object whose members are among names, in any order, each at most once. It calls
// member to read the value of names[i]. Bit i of required says that names[i] must be there. Bit i
// of the result says that it was.
func (p *jsonScanner) object(names []string, required uint, member func(i int)) (seen uint) {
	p.open('{', "an object")
	for n := 0; p.ok() && p.more(n, '}'); n++ {
		i := p.key(names, seen)
		if !p.ok() {
			return seen
		}
		seen |= 1 << i
		p.push(names[i], 0)
		member(i)
		if !p.ok() {
			return seen
		}
		p.pop()
	}
	p.require(names, required, seen)
	return seen
}

// require fails unless all required members have been seen.
func (p *jsonScanner) require(names []string, required, seen uint) {
	for i, name := range names {
		if required&^seen&(1<<i) != 0 {
			p.failAt(p.mark(), "field %q is missing", name)
			return
		}
	}
}

// key reads the name of a member and the colon, and returns its index.
func (p *jsonScanner) key(names []string, seen uint) int {
	m := p.nextValue()
	name := p.string("the name of a field")
	i := slices.Index(names, string(name))
	switch {
	case !p.ok():
	case i < 0:
		p.failAt(m, "unknown field %s; known are %s", quote(name), strings.Join(names, ", "))
	case seen&(1<<i) != 0:
		p.failAt(m, "duplicate field %q", names[i])
	}
	p.colon()
	return i
}

func (p *jsonScanner) colon() {
	m := p.nextValue()
	if p.peek() != ':' {
		p.unexpected(m, `":"`, "")
		return
	}
	p.skip()
}

// bool reads true or false.
func (p *jsonScanner) bool() bool {
	m := p.nextValue()
	word := "false"
	if p.peek() == 't' {
		word = "true"
	}
	for i := range len(word) {
		if p.peek() != int(word[i]) {
			p.unexpected(m, "true or false", word[:i])
			return false
		}
		p.skip()
	}
	return word == "true"
}

// int reads a whole number in lo … hi.
func (p *jsonScanner) int(lo, hi int) int {
	m := p.nextValue()
	if p.peek() == '-' {
		p.unexpected(m, fmt.Sprintf("a number %d … %d", lo, hi), "")
		return lo
	}
	v := p.number(m, "", lo, hi)
	if c := p.peek(); c == '.' || c == 'e' || c == 'E' {
		p.unexpected(m, "a whole number", strconv.Itoa(v))
	}
	return v
}

// string reads a string. The result is valid until the next call.
func (p *jsonScanner) string(want string) []byte {
	m := p.nextValue()
	if p.peek() != '"' {
		p.unexpected(m, want, "")
		return nil
	}
	p.skip()
	p.text = append(p.text[:0], '"')
	escaped := false // the next byte belongs to an escape
	for escapes := false; ; {
		c := p.peek()
		if c < ' ' {
			p.unexpected(p.mark(), "the rest of a string", "")
			return nil
		}
		p.text = append(p.text, byte(c))
		p.skip()
		switch {
		case c == '"' && !escaped && escapes:
			return p.decoded(m)
		case c == '"' && !escaped:
			return p.text[1 : len(p.text)-1]
		case len(p.text) > maxString:
			p.failAt(m, "a string of more than %d bytes: %s", maxString, quote(p.text[1:]))
			return nil
		}
		escaped = c == '\\' && !escaped
		escapes = escapes || escaped
	}
}

// decoded returns the string at m, whose literal is in text, without escapes.
func (p *jsonScanner) decoded(m mark) []byte {
	var s string
	if err := json.Unmarshal(p.text, &s); err != nil {
		p.failAt(m, "%v", err)
		return nil
	}
	p.text = append(p.text[:0], s...)
	return p.text
}

// quote quotes text for a message. It cuts text to maxQuote bytes.
func quote(text []byte) string {
	if len(text) > maxQuote {
		return strconv.Quote(string(text[:maxQuote])) + "…"
	}
	return strconv.Quote(string(text))
}
