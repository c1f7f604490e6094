package terminal

import (
	"fmt"
	"io"

	"github.com/schedgen/schedgen/internal/outfile"
)

// WriteTo calls fill with the file called name, or with out, the standard output, if name is -.
// Errors of the file begin with the flag that gave the name.
func WriteTo(flag, name string, out io.Writer, fill func(io.Writer) error) error {
	if name == "-" {
		return fill(out)
	}
	return WriteFile(flag, name, fill)
}

// WriteFile makes the file called name hold the output of fill, as [outfile.Write] does. All errors
// begin with the flag that gave the name; the argument flag has no hyphens.
func WriteFile(flag, name string, fill func(io.Writer) error) error {
	if err := outfile.Write(name, fill); err != nil {
		return fmt.Errorf("--%s: %w", flag, err)
	}
	return nil
}
