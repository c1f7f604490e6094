package nccl

import (
	"bytes"
	"encoding/xml"
	"errors"
	"fmt"
	"io"
	"strconv"

	"github.com/schedgen/schedgen/network"
)

// Limits of a file.
const (
	maxFile     = 16 << 20 // bytes
	maxElements = 1 << 16
	maxDepth    = 64
)

// element is an element of the file.
type element struct {
	name  string
	attrs map[string]string
	line  int
	kids  []*element
}

// readXML returns the outermost element.
func readXML(r io.Reader) (*element, error) {
	text, err := io.ReadAll(io.LimitReader(r, maxFile+1))
	if err != nil {
		return nil, err
	}
	if len(text) > maxFile {
		return nil, &network.ParseError{Err: fmt.Errorf("a file of more than %d bytes", maxFile)}
	}
	d := xml.NewDecoder(bytes.NewReader(text))
	d.CharsetReader = func(_ string, r io.Reader) (io.Reader, error) { return r, nil } // names and numbers are ASCII
	root := &element{}
	open := []*element{root}
	for elements := 0; ; {
		token, err := d.Token()
		line, _ := d.InputPos()
		var syntax *xml.SyntaxError
		switch {
		case errors.Is(err, io.EOF) && len(root.kids) == 0:
			return nil, &network.ParseError{Err: errors.New("no elements: want <system> with what NCCL found")}
		case errors.Is(err, io.EOF):
			return root.kids[0], nil
		case errors.As(err, &syntax):
			return nil, &network.ParseError{Line: syntax.Line, Err: errors.New(syntax.Msg)}
		case err != nil:
			return nil, &network.ParseError{Line: line, Err: err}
		}
		switch token := token.(type) {
		case xml.StartElement:
			e := &element{name: token.Name.Local, attrs: make(map[string]string, len(token.Attr)), line: line}
			for _, a := range token.Attr {
				e.attrs[a.Name.Local] = a.Value
			}
			if elements++; elements > maxElements || len(open) > maxDepth {
				return nil, e.fault("more than %d elements, or more than %d within each other", maxElements, maxDepth)
			}
			last := open[len(open)-1]
			last.kids = append(last.kids, e)
			open = append(open, e)
		case xml.EndElement: // the decoder knows that it ends the innermost element
			open = open[:len(open)-1]
		}
	}
}

// fault returns an error of an element.
func (e *element) fault(format string, args ...any) error {
	return &network.ParseError{Line: e.line, Err: fmt.Errorf(e.name+": "+format, args...)}
}

// number returns the whole number of an attribute, which is absent if the element lacks it.
func (e *element) number(attr string, absent, least, most int64) (int64, error) {
	text, ok := e.attrs[attr]
	if !ok {
		return absent, nil
	}
	n, err := strconv.ParseInt(text, 0, 64)
	if err != nil || n < least || n > most {
		return 0, e.fault("%s=%q: want a whole number in %d..%d", attr, text, least, most)
	}
	return n, nil
}

// named returns the elements within e of a name.
func (e *element) named(name string) (found []*element) {
	for _, kid := range e.kids {
		if kid.name == name {
			found = append(found, kid)
		}
	}
	return found
}
