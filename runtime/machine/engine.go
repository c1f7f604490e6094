package machine

import (
	"fmt"

	"github.com/schedgen/schedgen/ir"
	"github.com/schedgen/schedgen/ir/windows"
)

// Engine executes operations of one rank, one after the other: a [Machine],
// which interprets a plan, or generated code, which embeds a [Base]. It is used
// by one goroutine at a time and allocates nothing once warm.
type Engine interface {
	// Clear starts a new operation, with nothing set.
	Clear()
	// Set sets slot s and returns what that makes due: the actions of rules,
	// in order, and the repairs to be armed, by numbers of the engine's own. A
	// slot that is set already, or that the rank does not have, changes
	// nothing. The results are valid until the next call.
	Set(s ir.Slot) (do []ir.Action, arm []int32)
	// Valid reports whether the rank has slot s.
	Valid(s ir.Slot) bool
	// Has reports whether s is set. A slot that the rank does not have never is.
	Has(s ir.Slot) bool
	// Pending reports whether an armed repair is still wanted.
	Pending(repair int32) bool
	// Done reports whether all done slots are set.
	Done() bool
	// Retired reports whether every rule has fired that must: all but repairs
	// and answers to requests.
	Retired() bool
	// Progress returns how many of the rules that must fire have fired, and
	// how many there are.
	Progress() (fired, of int)
	// Missing appends the done slots that are not set yet to dst, at most that many.
	Missing(dst []ir.Slot, most int) []ir.Slot
}

// Program is one rank's program, ready to be executed: a [Plan] or a [Code].
type Program interface {
	// Engine returns a new engine with nothing set. Engines share what is the
	// same for all operations.
	Engine() Engine
	// Keeps reports whether the rank may be asked for chunks after its
	// operation is done, so that the message must outlive the call.
	Keeps() bool
	// Repair returns after how many base timeouts a repair is due; ok is false
	// for a rule that is none.
	Repair(repair int32) (after int, ok bool)
	// Actions returns what a repair does, in order. The caller must not modify it.
	Actions(repair int32) []ir.Action
	// Recovery returns what the rank does about multicasts that have not
	// reached it, and for others. The caller must not modify it.
	Recovery() ir.Recovery
	// Outline returns what the rank sends, repairs and waits for; which slots
	// its rules wait for, and its recovery, are left out.
	Outline() ir.Program
}

// Schedule is a schedule that is ready to be executed by all its ranks.
type Schedule struct {
	Header ir.Header
	// Digest tells schedules with the same header apart, so that ranks that do
	// not run the same are found out; see [ir.Digest].
	Digest uint64
	// Program returns the program of rank, 0 … Header.Ranks-1.
	Program func(rank int) (Program, error)
	// Places returns where the signals of rank, 0 … Header.Ranks-1, may stand as flags, as
	// [windows.Of] has it. Without it, which must be so at all ranks then, signals go by
	// frames: those of schedules of which [windows.Has] is false.
	Places func(rank int) windows.Places

	// Source is what is executed, for those who want to prove it; nil for generated code.
	Source *ir.Schedule
	// Proved says that package verify proved the schedule with this Digest when the code was
	// generated.
	Proved bool
}

// Of returns s for machines to interpret. Nobody may change s afterwards.
func Of(s *ir.Schedule) (*Schedule, error) {
	digest, err := ir.Digest(s)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", s.Name(), err)
	}
	of := &Schedule{Header: s.Header, Digest: digest, Source: s, Program: func(rank int) (Program, error) {
		if rank < 0 || rank >= len(s.Programs) {
			return nil, fmt.Errorf("%s: no rank %d of %d", s.Name(), rank, len(s.Programs))
		}
		return Compile(&s.Header, &s.Programs[rank])
	}}
	if windows.Has(s) {
		of.Places = func(rank int) windows.Places {
			places, _ := windows.Of(rank, len(s.Programs), func(rank int) ir.Program { return s.Programs[rank] })
			return places
		}
	}
	return of, nil
}
