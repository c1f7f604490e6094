package source

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"path/filepath"

	"github.com/schedgen/schedgen/internal/foreign/chakra"
	"github.com/schedgen/schedgen/internal/foreign/dag"
	"github.com/schedgen/schedgen/internal/foreign/goal"
	"github.com/schedgen/schedgen/internal/foreign/msccl"
	"github.com/schedgen/schedgen/internal/forms"
	"github.com/schedgen/schedgen/ir"
)

// Foreign is a form of schedules that other programs write. The verbs verify and sim read it,
// and emit rewrites it as GOAL or as traces of Chakra.
type Foreign struct {
	Name      string
	Form      forms.Form
	Extension string
	Chunks    bool // the form tells which chunks a message carries
	Read      func(io.Reader) (*dag.Graph, error)
}

// foreignForms returns the forms as which a file may be read.
func foreignForms(name string) []Foreign {
	return []Foreign{
		{"GOAL", forms.GOAL, ".goal", false, goal.Parse},
		{"MSCCL XML", forms.MSCCL, ".xml", true, msccl.Parse},
		// the traces of the other ranks are read as well
		{"a Chakra trace", forms.Chakra, ".et", false, func(io.Reader) (*dag.Graph, error) { return readTraces(name) }},
	}
}

// sniff returns the foreign form of a file, by its first bytes or else by its name. It returns nil
// for a form of schedgen's own and for an unknown form, and an error for a file that is known to
// hold no schedule.
func sniff(name string, r *bufio.Reader) (*Foreign, error) {
	const enough = 4 << 10
	head, _ := r.Peek(enough) // reading the file finds the error again
	file := forms.Look(head)
	if at := bytes.Index(head, []byte("\n<algo ")); at >= 0 && file.Form == forms.Unknown {
		return nil, Placed(name, fmt.Errorf("the file begins with other lines, such as those of a log: MSCCL XML begins with <algo, here in line %d",
			2+bytes.Count(head[:at], []byte("\n"))))
	}
	for _, f := range foreignForms(name) {
		if file.Form == f.Form || file.Form == forms.Unknown && filepath.Ext(name) == f.Extension {
			return &f, nil
		}
	}
	switch file.Form {
	case forms.Text, forms.JSON, forms.Unknown:
		return nil, nil
	case forms.MSCCLPP:
		of := ""
		if file.Collective != "" {
			of = " for " + file.Collective
		}
		return nil, Placed(name, fmt.Errorf("this is %s%s, which schedgen cannot read; it reads GOAL, MSCCL XML and Chakra traces of other programs",
			file.Form, of))
	case forms.Rules, forms.OpenMPITuned:
		return nil, Placed(name, fmt.Errorf("this is %s, not a schedule; schedgen rules and schedgen explain --rules read it", file.Form))
	}
	return nil, Placed(name, fmt.Errorf("this is %s, not a schedule", file.Form))
}

// PlaceOf names a file in an error.
func PlaceOf(name string) string {
	if name == "-" {
		return "standard input"
	}
	return name
}

// Placed puts the name of the file before an error of its reader.
func Placed(name string, err error) error {
	name = PlaceOf(name)
	var trace *chakra.Error
	if errors.As(err, &trace) {
		return fmt.Errorf("%s: %s", TraceName(TracePrefix(name), trace.Rank), trace.Msg)
	}
	var at *ir.ParseError
	if errors.As(err, &at) {
		return fmt.Errorf("%s:%d:%d: %s", name, at.Line, at.Col, reason(at))
	}
	return fmt.Errorf("%s: %w", name, err)
}
