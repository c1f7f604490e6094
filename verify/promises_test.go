package verify

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/schedgen/schedgen/internal/test/heavy"
	"github.com/schedgen/schedgen/ir"
)

// TestPromisesAreThoseOfTheAlgorithms compares what this package says of algorithms by name with
// their registry and with their schedules. An algorithm promises what always holds.
func TestPromisesAreThoseOfTheAlgorithms(t *testing.T) {
	known := map[string]bool{}
	for _, alg := range Algorithms() {
		known[alg.Name] = true
		require.Equal(t, alg.Acked, promised[alg.Name].acked, alg.Name)
		row := alg.Row
		if row.Inputs == nil {
			continue
		}
		want := promise{acked: alg.Acked, rankOrder: true, position: true, inPlace: true}
		for ranks := 2; ranks <= 17; ranks++ {
			if ranks > 9 && ranks != 13 && ranks != 16 && !heavy.Tests() {
				continue
			}
			for _, p := range []Params{
				{Ranks: ranks}, {Ranks: ranks, Root: ranks / 3}, {Ranks: ranks, Root: ranks - 1, Chunks: 3},
				{Ranks: ranks, Chunks: 2 * ranks}, {Ranks: ranks, Degree: 2}, {Ranks: ranks, Degree: 4},
				{Ranks: ranks, Hosts: 1 + ranks/3}, {Ranks: ranks, Hosts: 2, Chunks: 2},
			} {
				spec, err := NewSpec(alg.Name, p)
				if err != nil {
					continue
				}
				report, err := Run(spec.Schedule())
				require.NoError(t, err)
				require.NoError(t, report.Err(), "%s %+v", alg.Name, p)
				terms := report.Terms
				require.NotEmpty(t, terms.Digest, "%s %+v", alg.Name, p)
				want.rankOrder = want.rankOrder && terms.RankOrder
				want.position = want.position && terms.Position
				want.inPlace = want.inPlace && terms.InPlace
			}
		}
		require.Equal(t, want, promised[alg.Name], alg.Name)
		require.Equal(t, alg.RankOrder, promised[alg.Name].rankOrder, alg.Name)
	}
	for name := range promised {
		require.True(t, known[name], "there is no %s", name)
	}
}

// TestAlgorithmsThatFoldOneTree checks that algorithms that say that they fold one tree have one
// digest, whatever their names are, however the vector is cut, and whichever rank gets the result.
func TestAlgorithmsThatFoldOneTree(t *testing.T) {
	for ranks := 1; ranks <= 33; ranks++ {
		if ranks > 9 && ranks != 13 && ranks != 16 && ranks != 33 && !heavy.Tests() {
			continue
		}
		digests := map[string]string{}
		for _, alg := range Algorithms() {
			if alg.Tree == "" {
				continue
			}
			for _, chunks := range []int{0, 1, 2, 7} {
				spec, err := NewSpec(alg.Name, Params{Ranks: ranks, Chunks: chunks})
				require.NoError(t, err)
				report, err := Run(spec.Schedule())
				require.NoError(t, err)
				if ranks == 1 && report.Terms.Digest == "" {
					continue // an exscan of one rank folds nothing
				}
				if digests[alg.Tree] == "" {
					digests[alg.Tree] = report.Terms.Digest
				}
				require.NotEmpty(t, report.Terms.Digest)
				require.Equal(t, digests[alg.Tree], report.Terms.Digest, "%s among %d ranks in %d chunks", alg.Name, ranks, chunks)
			}
		}
	}
}

// TestDigests checks that a tree always has the same digest and that different trees have different
// ones.
func TestDigests(t *testing.T) {
	digest := func(h ir.Header, of programs) string {
		report, err := Run(whole(h, of))
		require.NoError(t, err)
		require.NotEmpty(t, report.Terms.Digest)
		return report.Terms.Digest
	}
	seen := map[string]string{}
	for ranks := 2; ranks <= 9; ranks++ {
		for per := 1; per <= 3; per++ {
			require.Equal(t, digest(allreduceRing(ranks, 1)), digest(allreduceRing(ranks, per)), "chunks do not count")
		}
		for name, text := range map[string]string{
			"ring":      digest(allreduceRing(ranks, 1)),
			"linear":    digest(reduceScatterLinear(ranks, 1)),
			"circulant": digest(reduceScatterCirculant(ranks, 1)),
		} {
			name = fmt.Sprintf("%s among %d ranks", name, ranks)
			if ranks > 3 { // a few ranks have few trees
				require.Empty(t, seen[text], "%s and %s", seen[text], name)
			}
			seen[text] = name
		}
	}
}
