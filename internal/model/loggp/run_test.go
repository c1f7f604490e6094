package loggp_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/schedgen/schedgen/internal/model/loggp"
	_ "github.com/schedgen/schedgen/internal/test/ballast"
	"github.com/schedgen/schedgen/ir"
	"github.com/schedgen/schedgen/schedule"
)

// bcast returns a schedule of a broadcast of one chunk from rank 0, whose ranks have one signal.
func bcast(programs ...ir.Program) *ir.Schedule {
	s := &ir.Schedule{Header: ir.Header{Collective: "bcast", Algorithm: "test", Ranks: len(programs), Chunks: 1}}
	for r, p := range programs {
		p.Rank, p.Signals = r, 1
		s.Programs = append(s.Programs, p)
	}
	return s
}

func rule(when ir.Slot, do ...ir.Action) ir.Rule { return ir.Rule{When: []ir.Slot{when}, Do: do} }

func TestReturns(t *testing.T) {
	c0, s0 := ir.Chunk(0), ir.Signal(0)
	waits := func(slots ...ir.Slot) ir.Program { return ir.Program{Done: slots} }
	repair := rule(ir.Enter, ir.PutTo(s0, 1))
	repair.Unless = s0
	p := loggp.Params{L: 100, O: 10, Gap: 30, GPerByte: 2}
	for name, c := range map[string]struct {
		s     *ir.Schedule
		bytes int
		want  []loggp.Time
	}{
		"one byte: o at the sender, o+L+o at the receiver": {
			bcast(ir.Program{Rules: []ir.Rule{rule(ir.Enter, ir.PutTo(c0, 1))}}, waits(c0)), 1, []loggp.Time{10, 120}},
		"no bytes are one": {
			bcast(ir.Program{Rules: []ir.Rule{rule(ir.Enter, ir.PutTo(c0, 1))}}, waits(c0)), 0, []loggp.Time{10, 120}},
		"further bytes take G at the receiver, and at the sender's interface": {
			bcast(ir.Program{Rules: []ir.Rule{rule(ir.Enter, ir.PutTo(c0, 1), ir.PutTo(c0, 2))}}, waits(c0), waits(c0)), 11,
			[]loggp.Time{60, 140, 190}},
		"a signal is one byte, however long the message": {
			bcast(ir.Program{Rules: []ir.Rule{rule(ir.Enter, ir.PutTo(s0, 1))}}, waits(s0)), 1000, []loggp.Time{10, 120}},
		"two messages that arrive at once are received g apart": {
			bcast(ir.Program{Rules: []ir.Rule{rule(ir.Enter, ir.PutTo(c0, 2))}},
				ir.Program{Rules: []ir.Rule{rule(ir.Enter, ir.PutTo(s0, 2))}}, waits(c0, s0)), 1, []loggp.Time{10, 10, 150}},
		"what a rank has received it passes on when its CPU is free": {
			bcast(ir.Program{Rules: []ir.Rule{rule(ir.Enter, ir.PutTo(c0, 1))}},
				ir.Program{Rules: []ir.Rule{rule(c0, ir.PutTo(c0, 2))}, Done: []ir.Slot{c0}}, waits(c0)), 6, []loggp.Time{10, 140, 260}},
		"a multicast is one send": {
			bcast(ir.Program{Rules: []ir.Rule{rule(ir.Enter, ir.McastOf(c0), ir.PutTo(s0, 1))}}, waits(c0), waits(c0)), 1,
			[]loggp.Time{40, 120, 120}},
		"a second copy is received too, before what comes behind it": {
			bcast(ir.Program{Rules: []ir.Rule{rule(ir.Enter, ir.McastOf(c0), ir.PutTo(c0, 1), ir.PutTo(s0, 1))}}, waits(c0, s0), waits(c0)), 1,
			[]loggp.Time{70, 180, 120}},
		"repairs do not run": {
			bcast(ir.Program{Rules: []ir.Rule{repair}}, waits(s0)), 1, []loggp.Time{0, loggp.Never}},
	} {
		got, err := loggp.Run(c.s, p, c.bytes)
		require.NoError(t, err, name)
		require.Equal(t, c.want, got.Returns, name)
	}
}

func TestMakespanOfWhatNeverReturns(t *testing.T) {
	s := bcast(ir.Program{}, ir.Program{Done: []ir.Slot{ir.Chunk(0)}})
	got, err := loggp.Run(s, loggp.Defaults(), 1)
	require.NoError(t, err)
	require.Equal(t, loggp.Never, got.Makespan)
}

func TestBadInput(t *testing.T) {
	put := func(a ir.Action) *ir.Schedule {
		return bcast(ir.Program{Rules: []ir.Rule{rule(ir.Enter, a)}}, ir.Program{})
	}
	good, p := put(ir.PutTo(ir.Chunk(0), 1)), loggp.Defaults()
	for want, run := range map[string]func() (*loggp.Result, error){
		"o=-1 g=1000 G=6: a parameter is negative": func() (*loggp.Result, error) {
			return loggp.Run(good, loggp.Params{L: 2500, O: -1, Gap: 1000, GPerByte: 6}, 1)
		},
		"a block of -1 bytes":                     func() (*loggp.Result, error) { return loggp.Run(good, p, -1) },
		"times could exceed":                      func() (*loggp.Result, error) { return loggp.Run(good, p, 1<<62) },
		"put of c0 to rank 7: no such slot there": func() (*loggp.Result, error) { return loggp.Run(put(ir.PutTo(ir.Chunk(0), 7)), p, 1) },
		"put of c3 to rank 1: no such slot there": func() (*loggp.Result, error) { return loggp.Run(put(ir.PutTo(ir.Chunk(3), 1)), p, 1) },
		"mcast of s0":                             func() (*loggp.Result, error) { return loggp.Run(put(ir.McastOf(ir.Signal(0))), p, 1) },
		"rank 1: there is no slot s4 for done to wait for": func() (*loggp.Result, error) {
			return loggp.Run(bcast(ir.Program{}, ir.Program{Done: []ir.Slot{ir.Signal(4)}}), p, 1)
		},
		"rank 0, rule 0: there is no slot s9 to wait ": func() (*loggp.Result, error) {
			return loggp.Run(bcast(ir.Program{Rules: []ir.Rule{rule(ir.Signal(9))}}), p, 1)
		},
	} {
		_, err := run()
		require.ErrorContains(t, err, "LogGP model of bcast/test: ")
		require.ErrorContains(t, err, want)
	}
}

func BenchmarkDissemination65536(b *testing.B) {
	spec, err := schedule.New("barrier/dissemination", schedule.Params{Ranks: 65536, Degree: 2})
	require.NoError(b, err)
	s := spec.Schedule()
	for b.Loop() {
		_, err := loggp.Run(s, loggp.Defaults(), 1)
		require.NoError(b, err)
	}
}
