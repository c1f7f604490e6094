package emit

import (
	"fmt"
	"io"
	"strings"

	"github.com/schedgen/schedgen/ir"
)

// Format is one form in which a schedule can be printed.
type Format struct {
	Name    string                              // as in --format
	Summary string                              // one line, for help texts
	Write   func(io.Writer, *ir.Schedule) error // prints the schedule
}

// Formats returns all formats, the default one first.
func Formats() []Format {
	return []Format{
		{"text", "canonical text form, parses back to the same schedule", ir.WriteText},
		{"json", "JSON form schedgen/1, for other programs", ir.WriteJSON},
		{"dot", "picture for Graphviz: ranks down, rounds across", writeDOT},
	}
}

// Write prints s to w in the named format. An unknown format is an error that
// lists the known ones.
func Write(w io.Writer, format string, s *ir.Schedule) error {
	for _, f := range Formats() {
		if f.Name != format {
			continue
		}
		if err := f.Write(w, s); err != nil {
			return fmt.Errorf("emit %s as %s: %w", s.Name(), format, err)
		}
		return nil
	}
	return fmt.Errorf("emit: unknown format %q (have %s)", format, strings.Join(names(), ", "))
}

func names() []string {
	var out []string
	for _, f := range Formats() {
		out = append(out, f.Name)
	}
	return out
}
