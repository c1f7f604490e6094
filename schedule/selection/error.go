package selection

import (
	"fmt"
	"slices"

	"github.com/schedgen/schedgen/internal/forms"
)

// FileError is the error of a reader. It says where and why a file is not a table of rules. The
// readers report only the first fault.
type FileError struct {
	Line int    // line of the fault, from 1
	Msg  string // what is wrong there
}

// Error returns the line and the message in one line.
func (e *FileError) Error() string { return fmt.Sprintf("line %d: %s", e.Line, e.Msg) }

func faultf(line int, format string, args ...any) error {
	return &FileError{line, fmt.Sprintf(format, args...)}
}

// FormError is the error of a reader for a file of a known form that it does not read.
type FormError struct {
	Form forms.Form // the form of the file
}

// Error says what the file is, and what the reader accepts.
func (e *FormError) Error() string {
	switch {
	case e.Form == forms.OpenMPITuned:
		return fmt.Sprintf("this is %s; schedgen rules converts it to a table of schedgen", e.Form)
	case e.Form.IsRules():
		return fmt.Sprintf("this is %s, which cannot be read; schedgen reads its own tables, and schedgen rules converts those of Open MPI's component tuned", e.Form)
	}
	return fmt.Sprintf("this is %s, not a table of rules", e.Form)
}

// otherForm returns a *FormError if a file has a known form that is not in read.
func otherForm(data []byte, read ...forms.Form) error {
	form := forms.Look(data).Form
	if form == forms.Unknown || slices.Contains(read, form) {
		return nil
	}
	return &FormError{form}
}
