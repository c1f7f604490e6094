package msccl

import (
	"encoding/xml"
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"

	"github.com/schedgen/schedgen/ir"
)

// maxToken bounds the bytes of one element or text of the file.
const maxToken = 1 << 16

// metered fails when a token is too long.
type metered struct {
	r    io.Reader
	left int
}

func (m *metered) Read(b []byte) (int, error) {
	if m.left <= 0 {
		return 0, fmt.Errorf("an element or text of more than %d bytes", maxToken)
	}
	n, err := m.r.Read(b[:min(len(b), m.left)])
	m.left -= n
	return n, err
}

// document reads elements and their positions. It keeps the first error.
type document struct {
	in  *metered
	xml *xml.Decoder
	err error
	// Position of the last token.
	line, col int
}

func newDocument(r io.Reader) *document {
	in := &metered{r: r}
	return &document{in: in, xml: xml.NewDecoder(in)}
}

func (d *document) fail(format string, args ...any) {
	if d.err == nil {
		d.err = &ir.ParseError{Line: d.line, Col: d.col, Msg: fmt.Sprintf(format, args...)}
	}
}

// next returns the next start or end of an element, or nil at the end of the file. It skips
// comments and white space.
func (d *document) next() xml.Token {
	for d.err == nil {
		d.in.left = maxToken
		d.line, d.col = d.xml.InputPos()
		t, err := d.xml.RawToken()
		var syntax *xml.SyntaxError
		switch {
		case errors.Is(err, io.EOF):
			return nil
		case errors.As(err, &syntax):
			d.line, d.col = d.xml.InputPos()
			d.fail("%s", syntax.Msg)
			return nil
		case err != nil:
			d.fail("reading the input: %v", err)
			return nil
		}
		switch t := t.(type) {
		case xml.StartElement, xml.EndElement:
			return t
		case xml.CharData:
			if strings.TrimSpace(string(t)) != "" {
				d.fail("text between elements")
			}
		case xml.Directive:
			d.fail("a directive, such as a document type: not read")
		}
	}
	return nil
}

// children calls f with each element up to the end of the element called name.
func (d *document) children(name string, f func(xml.StartElement)) {
	for {
		switch t := d.next().(type) {
		case xml.StartElement:
			f(t)
		case xml.EndElement:
			if d.err == nil && t.Name.Local != name {
				d.fail("</%s> where </%s> is due", t.Name.Local, name)
			}
			return
		default:
			if d.err == nil {
				d.line, d.col = d.xml.InputPos()
				d.fail("the file ends within <%s>", name)
			}
			return
		}
	}
}

// attributes are the attributes of one element.
type attributes struct {
	d       *document
	element string
	value   map[string]string
}

// open checks that the element is called name and that it has all required and no unknown
// attributes.
func (d *document) open(e xml.StartElement, name string, required, optional []string) attributes {
	a := attributes{d, name, make(map[string]string, len(e.Attr))}
	if e.Name.Local != name || e.Name.Space != "" {
		d.fail("<%s> where <%s> is due", e.Name.Local, name)
		return a
	}
	for _, attr := range e.Attr {
		n := attr.Name.Local
		_, twice := a.value[n]
		switch {
		case twice:
			d.fail("<%s>: attribute %s twice", name, n)
		case !slices.Contains(required, n) && !slices.Contains(optional, n):
			d.fail("<%s>: unknown attribute %s; known are %s", name, n, strings.Join(slices.Concat(required, optional), ", "))
		}
		a.value[n] = attr.Value
	}
	for _, n := range required {
		if _, ok := a.value[n]; !ok {
			d.fail("<%s>: attribute %s is missing", name, n)
		}
	}
	return a
}

// int returns the value of an attribute that is a number in lo … hi.
func (a attributes) int(name string, lo, hi int) int {
	text := a.value[name]
	v, err := strconv.Atoi(text)
	if a.d.err == nil && (err != nil || v < lo || v > hi) {
		a.d.fail("<%s>: %s=%q: must be a number %d … %d", a.element, name, text, lo, hi)
		return lo
	}
	return v
}

// optional is like int but returns missing if the element does not have the attribute.
func (a attributes) optional(name string, missing, lo, hi int) int {
	if _, ok := a.value[name]; !ok {
		return missing
	}
	return a.int(name, lo, hi)
}

// word returns the value of an attribute that is one of words.
func (a attributes) word(name string, words ...string) string {
	if v := a.value[name]; slices.Contains(words, v) {
		return v
	}
	a.d.fail("<%s>: %s=%q: must be one of %s", a.element, name, a.value[name], strings.Join(words, ", "))
	return words[0]
}
