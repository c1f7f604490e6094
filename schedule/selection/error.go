package selection

import (
	"fmt"
	"slices"

	"github.com/schedgen/schedgen/internal/forms"
)

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

// FormError is the error of a reader for a file that is known to be of a form that it
// does not read.
type FormError struct {
	Form forms.Form
}

// Error says what the file is, and what is read.
func (e *FormError) Error() string {
	switch {
	case e.Form == forms.OpenMPITuned:
		return fmt.Sprintf("this is %s; the command schedgen rules makes a table of schedgen of it", e.Form)
	case e.Form.IsRules():
		return fmt.Sprintf("this is %s, which is not read; tables of schedgen are, and schedgen rules reads those of Open MPI's component tuned", e.Form)
	}
	return fmt.Sprintf("this is %s, not a table of rules", e.Form)
}

// otherForm returns a *FormError if a file is known to be in none of the forms that are read.
func otherForm(data []byte, read ...forms.Form) error {
	form := forms.Look(data).Form
	if form == forms.Unknown || slices.Contains(read, form) {
		return nil
	}
	return &FormError{form}
}
