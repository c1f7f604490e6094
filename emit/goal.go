package emit

import (
	"bufio"
	"fmt"
	"io"
	"slices"

	"github.com/schedgen/schedgen/internal/foreign/dag"
	"github.com/schedgen/schedgen/ir"
)

// writeGOAL prints what happens under the losses of o as GOAL text, the input of the simulator
// LogGOPSim (grammar: package internal/foreign/goal).
func writeGOAL(w io.Writer, s *ir.Schedule, o Options) error {
	g, err := newOperations(s, o)
	if err != nil {
		return err
	}
	buf := bufio.NewWriter(w)
	g.goalHeader(buf, o)
	for rank, ops := range g.ranks {
		fmt.Fprintf(buf, "\nrank %d {\n", rank)
		for i := range ops {
			writeGOALOp(buf, ops, &ops[i])
		}
		fmt.Fprintln(buf, "}")
	}
	return buf.Flush()
}

// writeGOALOp prints an operation and its requirements.
func writeGOALOp(w io.Writer, ops []dag.Op, op *dag.Op) {
	switch op.Kind {
	case dag.Send:
		fmt.Fprintf(w, "%s: send %db to %d tag %d\n", op.Name, op.Size, op.Peer, op.Tag)
	case dag.Recv:
		fmt.Fprintf(w, "%s: recv %db from %d tag %d\n", op.Name, op.Size, op.Peer, op.Tag)
	default:
		fmt.Fprintf(w, "%s: calc %d\n", op.Name, op.Time)
	}
	for _, a := range op.After {
		fmt.Fprintf(w, "%s requires %s\n", op.Name, ops[a].Name)
	}
}

// goalHeader writes what the file is.
func (g *operations) goalHeader(w io.Writer, o Options) {
	fmt.Fprintf(w, "// %s\n", g.title())
	if o.Command != "" {
		fmt.Fprintf(w, "// made by: %s\n", o.Command)
	}
	if g.s.HasMessage() {
		fmt.Fprintf(w, "// message: %db\n", g.length()) // of one block
	}
	notes := []string{"A signal, like a chunk of no bytes, is one byte."}
	if castsOrRepairs(g.s) {
		notes = slices.Concat(goalLossNotes, notes)
	}
	if g.s.Folds() {
		notes = slices.Concat(notes, goalFoldNotes)
	}
	for _, line := range notes {
		fmt.Fprintln(w, "// "+line)
	}
	if g.s.Folds() {
		fmt.Fprintf(w, "// Folds take %v ns a byte.\n", float64(g.fold)/1000)
	}
	fmt.Fprintf(w, "num_ranks %d\n", g.s.Ranks)
}

// castsOrRepairs reports whether a rule multicasts or is a repair.
func castsOrRepairs(s *ir.Schedule) bool {
	for i := range s.Programs {
		for j := range s.Programs[i].Rules {
			r := &s.Programs[i].Rules[j]
			if r.IsRepair() || slices.ContainsFunc(r.Do, func(a ir.Action) bool { return a.Op == ir.Mcast }) {
				return true
			}
		}
	}
	return false
}

var goalLossNotes = []string{
	"GOAL has no multicast, so a multicast is one send to each rank that gets it.",
	"Repairs that these losses make necessary are sends like others; the time until",
	"a rank asks for one is not modelled.",
}

var goalFoldNotes = []string{
	"A fold is a calc: GOAL says how long it takes, and not of what it is made. So this",
	"file shows when data comes where, and neither that every contribution is in a",
	"result once nor in which order: schedgen verify proves that of the schedule itself.",
}
