package verify_test

import (
	"bytes"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/schedgen/schedgen/internal/test/heavy"
	"github.com/schedgen/schedgen/ir"
	"github.com/schedgen/schedgen/schedule"
	"github.com/schedgen/schedgen/verify"
)

func parse(t testing.TB, text string) *ir.Schedule {
	t.Helper()
	s, err := ir.ParseText(strings.NewReader(strings.TrimPrefix(text, "\n")))
	require.NoError(t, err)
	return s
}

func failure(t testing.TB, s *ir.Schedule, check string) *verify.Failure {
	t.Helper()
	report, err := verify.Run(s, check)
	require.NoError(t, err)
	var f *verify.Failure
	require.ErrorAs(t, report.Err(), &f)
	require.Equal(t, check, f.Check)
	return f
}

func TestUnknownCheckIsAnError(t *testing.T) {
	s := generate(t, "bcast/chain", schedule.Params{Ranks: 3})
	_, err := verify.Run(s, "coverage", "barier")
	require.ErrorContains(t, err, `"barier"`)
	require.ErrorContains(t, err, "barrier")
}

func TestOnlyNamedChecksAreRun(t *testing.T) {
	s := generate(t, "bcast/chain", schedule.Params{Ranks: 3})
	report, err := verify.Run(s, "once", "barrier", "coverage")
	require.NoError(t, err)
	require.Equal(t, []verify.Result{
		{Check: "coverage", Applies: true},
		{Check: "barrier", Note: "bcast/chain is not a barrier"},
		{Check: "once", Applies: true},
	}, report.Results)
}

func TestChecksSkipMalformedSchedules(t *testing.T) {
	s := generate(t, "barrier/hsb", schedule.Params{Ranks: 3})
	s.Programs[1].Rules[0].Do = nil
	report, err := verify.Run(s)
	require.NoError(t, err)
	for _, res := range report.Results[1:] {
		require.False(t, res.Applies)
		require.NoError(t, res.Err)
		require.NotEmpty(t, res.Note)
	}
	require.ErrorContains(t, report.Err(), "wellformed: ")
	require.Zero(t, report.Cost)
}

func TestBarrierFailureHoldsThePath(t *testing.T) {
	f := failure(t, parse(t, `
schedule barrier/hsb ranks=3 fan-in=2 fan-out=2
rank 0
  enter s0 -> put s0 @1, put s0 @2
  done s0 s1
rank 1
  enter -> put s0 @0
  done s0
rank 2
  enter -> put s1 @0
  done s0
`), "barrier")
	require.Equal(t, []int{1, 2}, f.Ranks)
	require.Equal(t, []verify.Place{{Rank: 2, Slot: ir.Enter}}, f.Places)
	require.Equal(t, []verify.Step{
		{Place: verify.Place{Rank: 1, Slot: ir.Signal(0)}, From: 0},
		{Place: verify.Place{Rank: 0, Slot: ir.Signal(0)}, From: 1},
	}, f.Path)
}

func TestDeadlockFailureHoldsTheCycle(t *testing.T) {
	f := failure(t, parse(t, `
schedule barrier/cycle ranks=4
rank 0
  enter s0 -> put s0 @1
  done s0
rank 1
  enter s0 s1 -> put s0 @2
  done s0
rank 2
  enter s0 -> put s1 @1
  enter -> put s0 @3
  done s0
rank 3
  enter s0 -> put s0 @0
  done s0
`), "deadlock")
	require.Equal(t, 2, f.Ranks[0])
	require.Equal(t, []verify.Place{{Rank: 2, Slot: ir.Signal(0)}}, f.Places)
	require.Equal(t, []verify.Step{
		{Place: verify.Place{Rank: 2, Slot: ir.Signal(0)}, From: 1},
		{Place: verify.Place{Rank: 1, Slot: ir.Signal(1)}, From: 2},
		{Place: verify.Place{Rank: 2, Slot: ir.Signal(0)}, From: -1},
	}, f.Path)
}

func TestLongCounterexamplesAreCut(t *testing.T) {
	s := generate(t, "bcast/chain", schedule.Params{Ranks: 1000})
	s.Programs[1].Rules = nil
	f := failure(t, s, "deadlock")
	require.Less(t, len(f.Error()), 200)
	s = generate(t, "bcast/chain", schedule.Params{Ranks: 1000})
	s.Programs[0].Rules = nil
	f = failure(t, s, "deadlock")
	require.Len(t, f.Path, 1)
	s.Programs[999].Rules = []ir.Rule{{When: []ir.Slot{ir.Chunk(0)}, Do: []ir.Action{ir.PutTo(ir.Chunk(0), 1)}}}
	f = failure(t, s, "deadlock")
	require.Len(t, f.Path, 1000)
	require.Less(t, len(f.Error()), 300)
	require.Contains(t, f.Error(), "more waits for")
}

// TestSameCounterexampleEveryTime checks that output does not depend on the order of maps, which
// gonum uses for its graphs.
func TestSameCounterexampleEveryTime(t *testing.T) {
	s := generate(t, "barrier/dissemination", schedule.Params{Ranks: 32, Degree: 2})
	for r := range s.Programs {
		rules := s.Programs[r].Rules
		rules[0].When = append([]ir.Slot{ir.Signal(4)}, rules[0].When...)
	}
	first := failure(t, s, "deadlock")
	for range 20 {
		require.Equal(t, first, failure(t, s, "deadlock"))
	}
}

// TestAtAThousandRanks proves every algorithm at many ranks. Daily tests take fewer. The suite of
// package schedule proves every algorithm at few.
func TestAtAThousandRanks(t *testing.T) {
	for _, alg := range schedule.Algorithms() {
		ranks := heavy.Or(150, 1024)
		if row := alg.Row(); alg.CutsItself() {
			ranks = heavy.Or(64, 128)
		} else if row.Blocks != nil && row.Blocks(2) > 1 {
			ranks = heavy.Or(32, 48)
		}
		for _, p := range variants(ranks) {
			if s := generate(t, alg.Name, p); s != nil {
				proved(t, s, alg.Name)
			}
		}
	}
}

// TestNothingPanics runs schedules that no reader would accept.
func TestNothingPanics(t *testing.T) {
	for seed := range heavy.Seeds(5000) {
		s := garbage(rand.New(rand.NewPCG(seed, 0)))
		report, err := verify.Run(s)
		require.NoError(t, err)
		require.NotEmpty(t, report.Results)
		_, _ = verify.CostOf(s)
	}
	for _, s := range []*ir.Schedule{{}, {Header: ir.Header{Collective: "bcast", Algorithm: "x", Ranks: 1 << 62, Chunks: 1 << 62}}} {
		report, err := verify.Run(s)
		require.NoError(t, err)
		require.Error(t, report.Err())
		_, err = verify.CostOf(s)
		require.Error(t, err)
	}
}

func garbage(rnd *rand.Rand) *ir.Schedule {
	wild := func(n int) int { return rnd.IntN(n+2) - rnd.IntN(2) }
	slot := func() ir.Slot { return ir.Slot(uint32(rnd.IntN(4))<<30 | uint32(rnd.IntN(3))) }
	s := &ir.Schedule{Header: ir.Header{
		Collective: []string{"bcast", "barrier", "anycast", "scan"}[rnd.IntN(4)], Algorithm: "x",
		Ranks: 1 + rnd.IntN(3), Root: wild(2), Chunks: wild(2), Recovers: rnd.IntN(2) == 0}}
	for r := range wild(s.Ranks) {
		p := ir.Program{Rank: r, Signals: wild(2)}
		for range rnd.IntN(4) {
			rule := ir.Rule{When: []ir.Slot{slot(), slot()}[:rnd.IntN(3)], Unless: slot() * ir.Slot(rnd.IntN(2)), After: wild(1)}
			for range rnd.IntN(3) {
				rule.Do = append(rule.Do, ir.Action{Op: ir.Op(rnd.IntN(4)), Slot: slot(), To: int32(wild(2))})
			}
			p.Rules = append(p.Rules, rule)
		}
		p.Done = []ir.Slot{slot(), slot()}[:rnd.IntN(3)]
		if rnd.IntN(4) == 0 {
			p.Recovery = ir.Recovery{Ask: []int32{int32(wild(2)), int32(wild(2))}[:rnd.IntN(3)], Reports: rnd.IntN(2) == 0, ReportTo: int32(wild(2)),
				ReportFrom: []int32{int32(wild(2)), int32(wild(2))}[:rnd.IntN(3)], Twice: []ir.Action{{Op: ir.Op(rnd.IntN(3)), Slot: slot(), To: int32(wild(2))}}[:rnd.IntN(2)]}
		}
		s.Programs = append(s.Programs, p)
	}
	return s
}

// FuzzVerify reads a schedule and checks it. No text may cause a panic, and a failure must name
// itself in one line.
func FuzzVerify(f *testing.F) {
	seeds, err := filepath.Glob(filepath.Join("..", "golden", "testdata", "broken", "*.txt"))
	require.NoError(f, err)
	for _, file := range seeds {
		text, err := os.ReadFile(file)
		require.NoError(f, err)
		f.Add(text)
	}
	for _, alg := range schedule.Algorithms() {
		var text bytes.Buffer
		require.NoError(f, ir.WriteText(&text, generate(f, alg.Name, schedule.Params{Ranks: 5})))
		f.Add(text.Bytes())
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		s, err := ir.ParseText(bytes.NewReader(text))
		if err != nil || s.Ranks*(s.Chunks+1) > 1<<14 {
			return
		}
		report, err := verify.Run(s)
		require.NoError(t, err)
		for _, res := range report.Results {
			if res.Err != nil {
				require.NotContains(t, res.Err.Error(), "\n")
				require.True(t, strings.HasPrefix(res.Err.Error(), res.Check+": "))
			}
		}
	})
}

// TestRunTelling checks that begin is called for every check before it runs.
func TestRunTelling(t *testing.T) {
	spec, err := schedule.New("barrier/hsb", schedule.Params{Ranks: 5})
	require.NoError(t, err)
	var told, want []string
	for _, c := range verify.Checks() {
		want = append(want, c.Name)
	}
	begin := func(check string) { told = append(told, check) }
	_, err = verify.RunTelling(spec.Schedule(), begin)
	require.NoError(t, err)
	require.Equal(t, want, told)
	told = nil
	_, err = verify.RunTelling(spec.Schedule(), begin, "reuse", "barrier")
	require.NoError(t, err)
	require.Equal(t, []string{"wellformed", "barrier", "reuse"}, told)
}
