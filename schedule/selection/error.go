package selection

import "fmt"

// FileError is the error of a reader: where a file stops being a table of rules and why.
// The readers report the first fault only.
type FileError struct {
	Line int // of the fault, from 1
	Msg  string
}

// Error returns the line and the message in one line.
func (e *FileError) Error() string { return fmt.Sprintf("line %d: %s", e.Line, e.Msg) }

func faultf(line int, format string, args ...any) error {
	return &FileError{line, fmt.Sprintf(format, args...)}
}
