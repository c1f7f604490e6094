package emit

import (
	"fmt"
	"io"
	"strings"

	"github.com/schedgen/schedgen/ir"
)

// Format is one form in which a schedule can be printed.
type Format struct {
	Name      string // as in --format
	Extension string // of files that hold it, without the dot
	Summary   string // one line, for help texts
	Most      int    // transfers of a schedule that it takes at most, a multicast being one to every other rank; 0: any number

	// Write prints a schedule. The error is an [*Unfit] if the format cannot
	// express it.
	Write func(io.Writer, *ir.Schedule, Options) error
}

// Options are what some formats need besides the schedule. The zero value is
// good for all formats.
type Options struct {
	// Command is the command line that prints this, for a header; empty: none.
	Command string

	Extract Extract // svg, html: which ranks the picture shows, html: beyond 64 at first

	Size int  // goal: bytes of one block, such as the message of a broadcast; ≥ 0
	Fold int  // goal: picoseconds that a fold takes for each byte of each operand but the first; ≥ 0
	Lost Loss // goal: which multicasts are lost

	// Package is the name of a Go package, or of the function in C; empty: the algorithm's name and
	// the number of ranks, in C after the collective's.
	Package string
	// Proved says that the caller has proved the schedule with package verify. A Go package tells
	// the runtime so, whose Comm.Use takes no other code. A C file says so to its reader.
	Proved bool
	// RankOrder, Position and InPlace say, of what a proved schedule folds, what package verify says of its
	// terms. A Go package tells the runtime so, and a C file refuses operations that need another
	// order.
	RankOrder, Position, InPlace bool

	Others   []*ir.Schedule // html: the schedule for other roots, which the page lets choose
	Failures []Failure      // html: why the schedule does not verify
}

// Formats returns all formats, the default one first.
func Formats() []Format {
	return []Format{
		{"text", "txt", "canonical text form, parses back to the same schedule", 0, fixed(ir.WriteText)},
		{"json", "json", "JSON form schedgen/1 to schedgen/4, for other programs", 0, fixed(ir.WriteJSON)},
		{"dot", "dot", "picture for Graphviz: ranks down, rounds across", mostDrawn, fixed(writeDOT)},
		{"svg", "svg", "space-time diagram: a lane for each rank, of many for some, rounds to the right", 0, writeSVG},
		{"go", "go", "Go package that runtime.Comm.Use takes: the schedule proved, its programs as functions", 0, writeGo},
		{"c", "c", "C file for mpicc: the schedule over point-to-point messages of MPI", mostWritten, writeC},
		{"goal", "goal", "GOAL, for the simulator LogGOPSim, under the losses of --lost", mostWritten, writeGOAL},
		{"html", "html", "page that plays the schedule: lose multicasts, ask ranks, change the root", 0, writeHTML},
		{"msccl", "xml", "XML for MSCCL: what puts alone move and fold, such as an allreduce", mostWritten, writeMSCCL},
	}
}

// What is made of transfers before it is written takes so much memory for each that
// more of them are refused: two gigabytes in all.
const (
	mostDrawn   = 1 << 20
	mostWritten = 1 << 22
)

// Takes returns the error, an [*Unfit], of a format that does not take as many
// transfers.
func (f *Format) Takes(transfers int64) error {
	if f.Most == 0 || transfers <= int64(f.Most) {
		return nil
	}
	return &Unfit{fmt.Sprintf("%s are more than it takes, at most %s", count(int(transfers), "transfer"), number(f.Most))}
}

// transfersIn counts the transfers of s.
func transfersIn(s *ir.Schedule) (n int64) {
	for i := range s.Programs {
		for j := range s.Programs[i].Rules {
			for message := range sent(s.Programs[i].Rules[j].Do) {
				if message[0].Op == ir.Mcast {
					n += int64(s.Ranks - 1)
				} else {
					n++
				}
			}
		}
	}
	return n
}

// fixed is the writer of a format without options.
func fixed(write func(io.Writer, *ir.Schedule) error) func(io.Writer, *ir.Schedule, Options) error {
	return func(w io.Writer, s *ir.Schedule, _ Options) error { return write(w, s) }
}

// Write prints s to w in the named format. An unknown format is an error that
// lists the known ones.
func Write(w io.Writer, format string, s *ir.Schedule, o Options) error {
	for _, f := range Formats() {
		if f.Name != format {
			continue
		}
		err := f.Takes(transfersIn(s))
		if err == nil {
			err = f.Write(w, s, o)
		}
		if err != nil {
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
