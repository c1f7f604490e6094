package emit

import (
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/schedgen/schedgen/ir"
)

// Format is one form in which a schedule can be printed.
type Format struct {
	Name      string // the value of --format
	Extension string // the extension of its files, without the dot
	Summary   string // one line, for help texts
	// Most is the maximum number of transfers of a schedule, where a multicast counts once for each
	// other rank. 0 means any number.
	Most int

	// Write prints a schedule. The error is an [*Unfit] if the format cannot express it. It is nil
	// for a format that has a file for each rank.
	Write func(io.Writer, *ir.Schedule, Options) error
	// WriteRanks prints a schedule as a file for each rank. For each rank, in ascending order, it
	// calls create with a function that writes the rank's file. It is nil for other formats.
	WriteRanks func(create func(rank int, write func(io.Writer) error) error, s *ir.Schedule, o Options) error
}

// Options are additional inputs of some formats. The zero value works for all formats.
type Options struct {
	// Command is the command line that prints this, for a header. Empty: no header names it.
	Command string

	// Extract says which ranks an svg or html picture shows. A reader of an html page can choose
	// others.
	Extract Extract

	Size int  // goal, chakra: bytes of one block, such as the message of a broadcast; ≥ 0
	Fold int  // goal, chakra: picoseconds that a fold takes for each byte of each operand but the first; ≥ 0
	Lost Loss // goal, chakra: which multicasts are lost

	// Package is the name of a Go package, or of the function in C. The default is the algorithm's
	// name and the number of ranks. In C the collective's name comes before them.
	Package string
	// Proved says that the caller has proved the schedule with package verify. A Go package tells
	// the runtime so, because Comm.Use accepts no other code. A C file tells its reader.
	Proved bool
	// RankOrder, Position and InPlace are the results of package verify for the terms of a proved
	// schedule. A Go package passes them to the runtime. A C file refuses operations that need
	// another order.
	RankOrder, Position, InPlace bool

	// Others are the schedules for other roots, among which an html page lets the reader choose.
	Others   []*ir.Schedule
	Failures []Failure // html: why the schedule does not verify
}

// Formats returns all formats, the default one first.
func Formats() []Format {
	return []Format{
		{"text", "txt", "canonical text form, parses back to the same schedule", 0, fixed(ir.WriteText), nil},
		{"json", "json", "JSON form schedgen/1 to schedgen/4, for other programs", 0, fixed(ir.WriteJSON), nil},
		{"dot", "dot", "picture for Graphviz: ranks down, rounds across", mostDrawn, fixed(writeDOT), nil},
		{"svg", "svg", "space-time diagram: a lane for each rank, or for some of many, and rounds to the right", 0, writeSVG, nil},
		{"go", "go", "Go package that runtime.Comm.Use takes: the schedule proved, its programs as functions", 0, writeGo, nil},
		{"c", "c", "C file for mpicc: the schedule over point-to-point messages of MPI", mostWritten, writeC, nil},
		{"goal", "goal", "GOAL, for the simulator LogGOPSim, under the losses of --lost", mostWritten, writeGOAL, nil},
		{"html", "html", "page that plays the schedule: lose multicasts, ask ranks, change the root", 0, writeHTML, nil},
		{"msccl", "xml", "XML for MSCCL, for schedules of puts and folds alone, such as an allreduce", mostWritten, writeMSCCL, nil},
		{"chakra", "et", "execution traces of Chakra, a file a rank, for the simulator ASTRA-sim, under the losses of --lost", mostWritten, nil, writeChakra},
	}
}

// Bounds of transfers. A format that keeps data for each transfer in memory refuses more of them.
// They take two gigabytes in all.
const (
	mostDrawn   = 1 << 20
	mostWritten = 1 << 22
)

// Takes returns an [*Unfit] if the format does not accept so many transfers.
func (f *Format) Takes(transfers int64) error {
	if f.Most == 0 || transfers <= int64(f.Most) {
		return nil
	}
	return &Unfit{fmt.Sprintf("the schedule has %s, and the format takes at most %s", count(int(transfers), "transfer"), number(f.Most))}
}

// transfersIn counts the transfers of s. A multicast counts once for each other rank.
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

// fixed returns the writer of a format without options.
func fixed(write func(io.Writer, *ir.Schedule) error) func(io.Writer, *ir.Schedule, Options) error {
	return func(w io.Writer, s *ir.Schedule, _ Options) error { return write(w, s) }
}

// Write prints s to w in the named format. An unknown format is an error that lists the known ones.
// A format that has a file for each rank is an error.
func Write(w io.Writer, format string, s *ir.Schedule, o Options) error {
	return write(format, s, func(f *Format) error {
		if f.Write == nil {
			return errors.New("it has a file for each rank")
		}
		return f.Write(w, s, o)
	})
}

// WriteRanks prints s in the named format, which has a file for each rank. For each rank, in
// ascending order, it calls create with a function that writes the rank's file.
func WriteRanks(create func(rank int, write func(io.Writer) error) error, format string, s *ir.Schedule, o Options) error {
	return write(format, s, func(f *Format) error {
		if f.WriteRanks == nil {
			return errors.New("it has one file for all ranks")
		}
		return f.WriteRanks(create, s, o)
	})
}

// write calls to with the named format, if that accepts the transfers of s.
func write(format string, s *ir.Schedule, to func(*Format) error) error {
	var names []string
	for _, f := range Formats() {
		if f.Name != format {
			names = append(names, f.Name)
			continue
		}
		err := f.Takes(transfersIn(s))
		if err == nil {
			err = to(&f)
		}
		if err != nil {
			return fmt.Errorf("emit %s as %s: %w", s.Name(), format, err)
		}
		return nil
	}
	return fmt.Errorf("emit: unknown format %q (have %s)", format, strings.Join(names, ", "))
}
