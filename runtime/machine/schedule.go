package machine

import (
	"fmt"

	"github.com/schedgen/schedgen/internal/ir/windows"
	"github.com/schedgen/schedgen/ir"
)

// Schedule is a schedule that all its ranks can execute. Package emit writes Go code that returns
// one, and [Of] makes one from any schedule.
type Schedule struct {
	Header ir.Header
	// Digest distinguishes schedules with the same header, so that ranks notice different
	// schedules; see [ir.Digest].
	Digest uint64
	// Program returns the program of rank, 0 … Header.Ranks-1. The result must not be modified.
	Program func(rank int) ir.Program
	// Places returns where the signals of rank, 0 … Header.Ranks-1, may stand as flags, as in
	// [windows.Of]. Places is nil if [windows.Has] is false for the schedule; signals then go by
	// frames. Either all ranks have Places or none has.
	Places func(rank int) windows.Places

	// Source is the executed schedule, for proofs; nil for generated code.
	Source *ir.Schedule
	// Proved says that package verify had proved the schedule with this Digest when the code was
	// generated.
	Proved bool

	// The proved properties of folds. RankOrder: contributions are folded in the order of the
	// ranks, so the schedule serves operations that do not commute. Position: every part of the
	// vector is folded along the same tree. InPlace: a rank may write its result over its
	// contribution.
	RankOrder, Position, InPlace bool
}

// Of returns s as a Schedule. The caller must not modify s afterwards.
func Of(s *ir.Schedule) (*Schedule, error) {
	digest, err := ir.Digest(s)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", s.Name(), err)
	}
	of := &Schedule{Header: s.Header, Digest: digest, Source: s, Program: func(rank int) ir.Program { return s.Programs[rank] }}
	if windows.Has(s) {
		of.Places = PlacesOf(s.Ranks, of.Program)
	}
	return of, nil
}

// PlacesOf returns the Places of a [Schedule] from the programs of its ranks, 0 … ranks-1. A
// schedule for which [windows.Has] is false must not have them.
func PlacesOf(ranks int, program func(rank int) ir.Program) func(rank int) windows.Places {
	return func(rank int) windows.Places {
		places, _ := windows.Of(rank, ranks, program)
		return places
	}
}

// Compile returns the plan of rank. It returns an error if rank is out of range, or the error of
// [Compile].
func (s *Schedule) Compile(rank int) (*Plan, error) {
	if rank < 0 || rank >= s.Header.Ranks {
		return nil, fmt.Errorf("%s: no rank %d of %d", s.Header.Name(), rank, s.Header.Ranks)
	}
	p := s.Program(rank)
	return Compile(&s.Header, &p)
}
