package selection

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
)

// MaxFile is the size in bytes of the largest file that the readers accept.
const MaxFile = 1 << 20

// maxDepth bounds the nesting of objects and arrays.
const maxDepth = 8

// node is a value of a JSON document. line is the line in which the value ends, or in which an
// object or array begins.
type node struct {
	line   int
	kind   string // object, array, string, number, boolean or null
	text   string // text of a string or number
	truth  bool
	fields []field
	items  []*node
}

// field is a member of an object.
type field struct {
	name  string
	line  int
	value *node
}

// parseTree reads one JSON value. Unlike package encoding/json, it reports a duplicate name in an
// object as an error.
func parseTree(data []byte) (*node, error) {
	if len(data) > MaxFile {
		return nil, fmt.Errorf("%d bytes: at most %d are read", len(data), MaxFile)
	}
	p := &treeParser{data: data, dec: json.NewDecoder(bytes.NewReader(data))}
	p.dec.UseNumber()
	n, err := p.value(0)
	if err != nil {
		return nil, err
	}
	if _, err := p.dec.Token(); err == nil || !errors.Is(err, io.EOF) {
		return nil, faultf(p.line(p.dec.InputOffset()), "something follows the end of the document")
	}
	return n, nil
}

// treeParser reads values. It counts lines on the way, so that all values together take time in
// proportion to the document.
type treeParser struct {
	data    []byte
	dec     *json.Decoder
	counted int64 // bytes whose lines are counted
	breaks  int   // lines that end in those bytes
}

// line returns the line of an offset. Offsets must not decrease from call to call.
func (p *treeParser) line(offset int64) int {
	offset = max(p.counted, min(offset, int64(len(p.data))))
	p.breaks += bytes.Count(p.data[p.counted:offset], []byte{'\n'})
	p.counted = offset
	return p.breaks + 1
}

func (p *treeParser) token() (json.Token, int, error) {
	t, err := p.dec.Token()
	var syntax *json.SyntaxError
	switch {
	case errors.As(err, &syntax):
		return nil, 0, faultf(p.line(syntax.Offset), "this is not JSON: %s", strings.TrimPrefix(syntax.Error(), "json: "))
	case errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF):
		return nil, 0, faultf(p.line(int64(len(p.data))), "this is not JSON: it ends too early")
	case err != nil:
		return nil, 0, faultf(p.line(p.dec.InputOffset()), "this is not JSON: %v", err)
	}
	return t, p.line(p.dec.InputOffset()), nil
}

func (p *treeParser) value(depth int) (*node, error) {
	t, line, err := p.token()
	if err != nil {
		return nil, err
	}
	if depth > maxDepth {
		return nil, faultf(line, "more than %d nested objects and arrays", maxDepth)
	}
	n := &node{line: line}
	switch v := t.(type) {
	case json.Delim:
		if v == '{' {
			n.kind = "object"
			return n, p.object(n, depth)
		}
		n.kind = "array"
		return n, p.array(n, depth)
	case string:
		n.kind, n.text = "string", v
	case json.Number:
		n.kind, n.text = "number", v.String()
	case bool:
		n.kind, n.truth = "boolean", v
	default:
		n.kind = "null"
	}
	return n, nil
}

func (p *treeParser) object(n *node, depth int) error {
	seen := make(map[string]int)
	for p.dec.More() {
		t, line, err := p.token()
		if err != nil {
			return err
		}
		name, ok := t.(string)
		if !ok {
			return faultf(line, "the name of a field was expected")
		}
		if first, twice := seen[name]; twice {
			return faultf(line, "field %s occurs twice, first in line %d", short(name), first)
		}
		seen[name] = line
		value, err := p.value(depth + 1)
		if err != nil {
			return err
		}
		n.fields = append(n.fields, field{name, line, value})
	}
	_, _, err := p.token()
	return err
}

func (p *treeParser) array(n *node, depth int) error {
	for p.dec.More() {
		value, err := p.value(depth + 1)
		if err != nil {
			return err
		}
		n.items = append(n.items, value)
	}
	_, _, err := p.token()
	return err
}

// short quotes a word of a file and cuts it if it is too long to print.
func short(word string) string {
	const most = 64
	if len(word) > most {
		word = strings.ToValidUTF8(word[:most], "") + "…"
	}
	return strconv.Quote(word)
}

// known returns an error for the first field that is not among names.
func (n *node) known(what string, names ...string) error {
	if n.kind != "object" {
		return faultf(n.line, "%s: an object was expected, not %s", what, n.a())
	}
	for _, f := range n.fields {
		if !slices.Contains(names, f.name) {
			return faultf(f.line, "%s: unknown field %s; known are %s", what, short(f.name), strings.Join(names, ", "))
		}
	}
	return nil
}

// get returns the value of a field, or nil if the object does not have it.
func (n *node) get(name string) *node {
	for _, f := range n.fields {
		if f.name == name {
			return f.value
		}
	}
	return nil
}

// a returns the kind of n with an article.
func (n *node) a() string {
	switch n.kind {
	case "object", "array":
		return "an " + n.kind
	case "null":
		return "null"
	}
	return "a " + n.kind
}

// list returns the items of an array.
func (n *node) list(what string) ([]*node, error) {
	if n.kind != "array" {
		return nil, faultf(n.line, "%s: an array was expected, not %s", what, n.a())
	}
	return n.items, nil
}

// word returns the text of a string.
func (n *node) word(what string) (string, error) {
	if n.kind != "string" {
		return "", faultf(n.line, "%s: a string was expected, not %s", what, n.a())
	}
	return n.text, nil
}

// whole returns a whole number in lo … hi.
func (n *node) whole(what string, lo, hi int) (int, error) {
	if n.kind != "number" {
		return 0, faultf(n.line, "%s: a number was expected, not %s", what, n.a())
	}
	v, err := strconv.Atoi(n.text)
	if err != nil || v < lo || v > hi {
		return 0, faultf(n.line, "%s: %s is not a whole number in %d..%d", what, cut(n.text), lo, hi)
	}
	return v, nil
}

// cut shortens a number that is too long to print.
func cut(number string) string {
	const most = 32
	if len(number) > most {
		return number[:most] + "…"
	}
	return number
}

// flag returns a boolean.
func (n *node) flag(what string) (bool, error) {
	if n.kind != "boolean" {
		return false, faultf(n.line, "%s: true or false was expected, not %s", what, n.a())
	}
	return n.truth, nil
}
