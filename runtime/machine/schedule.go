package machine

import (
	"fmt"

	"github.com/schedgen/schedgen/ir"
	"github.com/schedgen/schedgen/ir/windows"
)

// Schedule is a schedule that is ready to be executed by all its ranks. Package emit writes Go
// code that returns one, and [Of] makes one of any schedule.
type Schedule struct {
	Header ir.Header
	// Digest tells schedules with the same header apart, so that ranks that do
	// not run the same are found out; see [ir.Digest].
	Digest uint64
	// Program returns the program of rank, 0 … Header.Ranks-1. Nobody may change it afterwards.
	Program func(rank int) ir.Program
	// Places returns where the signals of rank, 0 … Header.Ranks-1, may stand as flags, as
	// [windows.Of] has it. Without it, which must be so at all ranks then, signals go by
	// frames: those of schedules of which [windows.Has] is false.
	Places func(rank int) windows.Places

	// Source is what is executed, for those who want to prove it; nil for generated code.
	Source *ir.Schedule
	// Proved says that package verify proved the schedule with this Digest when the code was
	// generated.
	Proved bool

	// Of what a schedule folds that is so proved: contributions are folded in the order of the ranks, so
	// it serves operations that do not commute; every part of the vector is folded by the same tree; and a
	// rank may write its result over its contribution.
	RankOrder, Position, InPlace bool
}

// Of returns s for machines to execute. Nobody may change s afterwards.
func Of(s *ir.Schedule) (*Schedule, error) {
	digest, err := ir.Digest(s)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", s.Name(), err)
	}
	of := &Schedule{Header: s.Header, Digest: digest, Source: s, Program: func(rank int) ir.Program { return s.Programs[rank] }}
	if windows.Has(s) {
		of.Places = func(rank int) windows.Places {
			places, _ := windows.Of(rank, s.Ranks, of.Program)
			return places
		}
	}
	return of, nil
}

// Compile returns the plan of a rank. The error is that of [Compile], or says that there is no such rank.
func (s *Schedule) Compile(rank int) (*Plan, error) {
	if rank < 0 || rank >= s.Header.Ranks {
		return nil, fmt.Errorf("%s: no rank %d of %d", s.Header.Name(), rank, s.Header.Ranks)
	}
	p := s.Program(rank)
	return Compile(&s.Header, &p)
}
