package schedule

import (
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/schedgen/schedgen/internal/test/heavy"
	"github.com/schedgen/schedgen/ir"
	"github.com/schedgen/schedgen/verify"
)

// The conformance suite of algorithms. Every check of package verify must hold for every number of
// ranks up to smallRanks, with all or many roots and parameters of every kind, and for samples up
// to largeRanks. The daily tests take the numbers up to dailyRanks, three larger ones, and a few
// samples. The test of an algorithm is one call of conform.
const (
	dailyRanks  = 13
	smallRanks  = 64
	largeRanks  = 1024
	mostSlots   = 20_000 // slots of a schedule of many blocks, all ranks together
	mostActions = 20_000 // actions of a sample, to keep quadratic schedules short
)

func conform(t *testing.T, name string) {
	t.Parallel()
	alg, err := find(name)
	require.NoError(t, err)
	t.Run("small", func(t *testing.T) {
		t.Parallel()
		for ranks := 1; ranks <= smallRanks && blocksEverywhere(&alg, ranks) <= mostSlots; ranks++ {
			if ranks > dailyRanks && ranks != 16 && ranks != 17 && ranks != 33 && !heavy.Tests() {
				continue
			}
			for _, p := range grid(&alg, ranks) {
				s, err := New(name, p)
				require.NoError(t, err, "%s %+v", name, p)
				prove(t, s)
			}
		}
	})
	t.Run("samples", func(t *testing.T) {
		t.Parallel()
		rapid.Check(t, func(t *rapid.T) {
			s, err := New(name, sample(t, &alg))
			require.NoError(t, err)
			if _, actions := s.Size(); actions <= mostActions {
				prove(t, s)
			}
		})
	})
}

// blocksEverywhere returns for how many blocks all ranks together have slots.
func blocksEverywhere(alg *Algorithm, ranks int) int {
	if row := alg.Row(); row.Blocks != nil {
		return ranks * row.Blocks(ranks)
	}
	return 0
}

// prove requires that all checks hold for a schedule.
func prove(t require.TestingT, s *Spec) {
	report, err := verify.Run(s.Schedule())
	require.NoError(t, err)
	require.NoError(t, report.Err(), "%s %+v", s.alg.Name, s.params)
	applied := 0
	for _, r := range report.Results {
		applied += count(r.Applies)
	}
	require.Greater(t, applied, 3, "%s %+v: hardly any check applies", s.alg.Name, s.params)
}

// grid returns parameters for one number of ranks: every root, and every kind of value of the other
// parameters in turn, each root with a few of them.
func grid(alg *Algorithm, ranks int) []Params {
	var out []Params
	row := alg.Row()
	if row.Synchronizes {
		return barrierGrid(alg, ranks)
	}
	roots := ranks
	if !row.Rooted {
		roots = 1
	}
	step := 1
	if groupLong(alg) { // a program names every rank: fewer roots are enough
		step += ranks / 12
	}
	for root := 0; root < roots; root += step {
		p := Params{Ranks: ranks, Root: root}
		out = append(out, p)
		if slices.Contains(alg.Params, "chunks") {
			chunks := []int{1, 2, 3, 5, min(ranks, 9), min(ranks+2, 11)}
			hosts := []int{1, 2, (ranks + 2) / 3, max(1, ranks-1), ranks}
			p.Chunks = chunks[(ranks+root)%len(chunks)]
			out = append(out, p)
			if !slices.Contains(alg.Params, "hosts") {
				continue
			}
			p.Hosts = min(ranks, hosts[(ranks+root)%len(hosts)])
			out = append(out, p)
			p.Chunks = 0
			out = append(out, p)
		}
	}
	return out
}

// barrierGrid combines hosts with fans or degrees.
func barrierGrid(alg *Algorithm, ranks int) []Params {
	var out []Params
	fans := []int{0, 1, 2, 3, 5, max(1, ranks-1), ranks + 4}
	degrees := []int{0, 2, 3, 4, 6, max(2, ranks), ranks + 3}
	for _, hosts := range []int{0, 1, min(2, ranks), (ranks + 2) / 3, ranks} {
		for i := range fans {
			p := Params{Ranks: ranks, Hosts: hosts}
			if !slices.Contains(alg.Params, "fan-in") {
				p.Degree = degrees[i]
				out = append(out, p)
				continue
			}
			for _, j := range []int{i, (i + ranks) % len(fans)} {
				p.FanIn, p.FanOut = fans[i], fans[j]
				out = append(out, p)
			}
		}
	}
	return out
}

// sample draws parameters of any kind, larger than grid's parameters.
func sample(t *rapid.T, alg *Algorithm) Params {
	least, most := smallRanks+1, largeRanks
	if blocksEverywhere(alg, most) > mostSlots {
		least = 2
		for most = least; blocksEverywhere(alg, most+1) <= mostSlots; {
			most++
		}
	}
	ranks := rapid.IntRange(least, most).Draw(t, "ranks")
	row := alg.Row()
	draw := func(name string, values *rapid.Generator[int]) int {
		if !slices.Contains(alg.Params, name) {
			return 0
		}
		return values.Draw(t, name)
	}
	fans := rapid.SampledFrom([]int{0, 2, 3, 7, 40})
	return Params{
		Ranks:  ranks,
		Root:   draw(row.RootWord(), rapid.IntRange(0, ranks-1)),
		Chunks: draw("chunks", rapid.IntRange(0, 6)),
		Hosts:  draw("hosts", rapid.OneOf(rapid.Just(0), rapid.IntRange(1, ranks))),
		Degree: draw("degree", fans),
		FanIn:  draw("fan-in", fans),
		FanOut: draw("fan-out", fans),
	}
}

// TestEveryMessageIsNeeded tests the suite itself: if any message that a rank sends without losses
// is missing, the schedule is not proved.
func TestEveryMessageIsNeeded(t *testing.T) {
	for _, alg := range Algorithms() {
		for _, p := range firstOf(grid(&alg, heavy.Or(7, 9)), heavy.Or(2, 6)) {
			s, err := New(alg.Name, p)
			require.NoError(t, err)
			for rank := range p.Ranks {
				withoutEach(t, s, rank)
			}
		}
	}
}

// withoutEach leaves out the puts of a rank, one at a time.
func withoutEach(t *testing.T, s *Spec, rank int) {
	t.Helper()
	rules := s.Program(rank).Rules
	for i, rule := range rules {
		if rule.IsRepair() || isAnswer(rule) {
			continue
		}
		for k, act := range rule.Do {
			if act.Op != ir.Put {
				continue
			}
			broken := s.Schedule()
			do := &broken.Programs[rank].Rules[i].Do
			*do = without(rule.Do, k)
			report, err := verify.Run(broken)
			require.NoError(t, err)
			require.Error(t, report.Err(), "%s %+v rank %d without %v", s.alg.Name, s.params, rank, act)
		}
	}
}

// firstOf returns at most n of the values.
func firstOf[T any](values []T, n int) []T { return values[:min(n, len(values))] }

// without leaves out one put, which may be part of a message.
func without(do []ir.Action, k int) []ir.Action {
	joins := do[k].Joins
	do = slices.Delete(slices.Clone(do), k, k+1)
	if k < len(do) && !joins {
		do[k].Joins = false
	}
	return do
}

// isAnswer reports whether a rule answers a request for a chunk. Such a request may never come.
func isAnswer(r ir.Rule) bool {
	return len(r.When) == 2 && r.When[0].Kind() == ir.KindChunk && r.When[1].Kind() == ir.KindSignal && r.Do[0].Slot == r.When[0]
}
