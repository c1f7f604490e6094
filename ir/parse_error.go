package ir

import "fmt"

// ParseError is the error of a reader. It says where and why the input is not a schedule. A reader
// reports only the first fault.
type ParseError struct {
	Line   int    // line of the fault, from 1
	Col    int    // column of the fault in bytes, from 1
	Offset int64  // bytes before the fault; only ParseJSON and ParseText set it
	Path   string // JSON only: the place in the document, such as programs[3].rules[1].do[0].to
	Msg    string // what is wrong and what was expected
	Err    error  // the cause, such as the error of the underlying reader; may be nil
}

// Error returns the place and the message in one line.
func (e *ParseError) Error() string {
	at := fmt.Sprintf("line %d, column %d", e.Line, e.Col)
	if e.Path != "" {
		at += fmt.Sprintf(" (byte %d): %s", e.Offset, e.Path)
	}
	return at + ": " + e.Msg
}

// Unwrap returns the cause.
func (e *ParseError) Unwrap() error { return e.Err }
