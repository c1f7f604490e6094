package emit

import (
	"io"

	"github.com/schedgen/schedgen/internal/foreign/chakra"
	"github.com/schedgen/schedgen/internal/foreign/dag"
	"github.com/schedgen/schedgen/ir"
)

// writeChakra writes what happens under the losses of o as traces of Chakra, the input of the
// simulator ASTRA-sim (form: package internal/foreign/chakra). The operations and their names are
// those of GOAL. A fold is a computation that works on the bytes of each operand but the first.
func writeChakra(create func(rank int, write func(io.Writer) error) error, s *ir.Schedule, o Options) error {
	ops, err := newOperations(s, o)
	if err != nil {
		return err
	}
	g := &dag.Graph{Ranks: ops.ranks, Unit: "bytes"}
	notes := []chakra.Note{{Name: "schedule", Text: ops.title()}}
	if o.Command != "" {
		notes = append(notes, chakra.Note{Name: "command", Text: o.Command})
	}
	if s.HasMessage() {
		g.Message = ops.length()
	}
	return chakra.Write(create, g, 1, notes)
}
