package verify

import (
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/schedgen/schedgen/internal/test/heavy"
	"github.com/schedgen/schedgen/ir"
)

// byHalving are algorithms whose default chunks move in company.
var byHalving = []string{"allreduce/halving", "reduce/halving", "reduce-scatter/halving"}

// TestIntervalsGiveWhatSlotsGive compares proofs by intervals with proofs by slots, word for word,
// for all algorithms.
func TestIntervalsGiveWhatSlotsGive(t *testing.T) {
	for _, alg := range Algorithms() {
		t.Run(alg.Name, func(t *testing.T) {
			proved := 0
			for _, ranks := range heavy.Or([]int{1, 2, 5, 8}, []int{1, 2, 3, 4, 5, 6, 7, 8, 9, 11, 12, 13, 16, 17, 23, 32}) {
				for _, p := range []Params{
					{Ranks: ranks}, {Ranks: ranks, Chunks: 3}, {Ranks: ranks, Chunks: 2*ranks + 1},
					{Ranks: ranks, Root: ranks / 3}, {Ranks: ranks, Root: ranks - 1, Chunks: 5}, {Ranks: ranks, Hosts: 1 + ranks/3},
				} {
					spec, err := NewSpec(alg.Name, p)
					if err != nil {
						continue
					}
					report := proveIntervals(spec.Header(), spec.Maker, Checks())
					if report == nil {
						flat := p.Chunks == 0 && p.Hosts == 0
						require.False(t, slices.Contains(byHalving, alg.Name) && flat, "%+v", p)
						continue
					}
					proved++
					full, err := Run(spec.Schedule())
					require.NoError(t, err)
					require.Equal(t, full, report, "%+v", p)
				}
			}
			if !strings.Contains(alg.Name, "mcast") && alg.Row.Blocks != nil && alg.Row.Question == 0 && alg.Row.Inputs == nil {
				require.Positive(t, proved)
			}
		})
	}
}

// TestMutantsByIntervals checks that a mutant is proved by intervals only if it is right, and then
// with the same words.
func TestMutantsByIntervals(t *testing.T) {
	proved, refuted := 0, 0
	all := slices.Concat(mutations(), foldMutations())
	rapid.Check(t, func(t *rapid.T) {
		name := rapid.SampledFrom([]string{
			"allreduce/halving", "reduce/halving", "reduce-scatter/halving", "allreduce/circulant", "reduce/chain", "bcast/scatter-allgather", "scatter/binomial",
		}).Draw(t, "algorithm")
		ranks := rapid.IntRange(2, 9).Draw(t, "ranks")
		spec, err := NewSpec(name, Params{Ranks: ranks, Chunks: rapid.SampledFrom([]int{0, 2, 5}).Draw(t, "chunks")})
		require.NoError(t, err)
		m := &mutant{clone(spec.Schedule()), rand.New(rand.NewPCG(rapid.Uint64().Draw(t, "seed"), 7))}
		if rapid.Bool().Draw(t, "mutate") {
			rapid.SampledFrom(all).Draw(t, "mutation").apply(m)
		}
		full, err := Run(m.Schedule)
		require.NoError(t, err)
		maker := func() func(rank int) ir.Program { return func(rank int) ir.Program { return m.Programs[rank] } }
		report := proveIntervals(m.Header, maker, Checks())
		switch {
		case report != nil:
			proved++
			require.NoError(t, full.Err())
			require.Equal(t, full, report)
		case full.Err() != nil:
			refuted++
		}
	})
	require.Positive(t, proved)
	require.Positive(t, refuted)
}

// TestFlagsWithoutAnswerByIntervals checks that intervals prove no flag that its writer may set any
// number of operations ahead.
func TestFlagsWithoutAnswerByIntervals(t *testing.T) {
	for text, proved := range map[string]bool{
		"  enter -> put c1 @1, put c2 @2\n  done enter\n":            true,
		"  enter -> put c1 @1, put s0 @1, put c2 @2\n  done enter\n": false,
	} {
		signal := ""
		if !proved {
			signal = " s0"
		}
		s, err := ir.ParseText(strings.NewReader("schedule scatter/test ranks=3 root=0 chunks=3\nrank 0\n" + text +
			"rank 1\n  done c1" + signal + "\nrank 2\n  done c2\n"))
		require.NoError(t, err)
		full, err := Run(s)
		require.NoError(t, err)
		report := proveIntervals(s.Header, makerOf(s), Checks())
		if proved {
			require.Equal(t, full, report)
			continue
		}
		require.ErrorContains(t, full.Err(), "s0 of rank 1 may be set again before it is consumed")
		require.Nil(t, report)
	}
}
