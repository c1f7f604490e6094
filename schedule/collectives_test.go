package schedule

import (
	"fmt"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/schedgen/schedgen/ir"
	"github.com/schedgen/schedgen/verify"
)

// Collectives of many blocks: what they cost, and that they are right for any parameters.

// TestCostOfCollectives holds depth, messages and the blocks that the busiest rank sends against
// what the algorithms are known for, at 5, 8 and 13 ranks, and the rounds that they take if a rank
// sends one message at a time.
func TestCostOfCollectives(t *testing.T) {
	for _, c := range []struct {
		name            string
		ranks           int
		depth, messages int
		blocks          float64
		onePorted       int
	}{
		{"allgather/bruck", 5, 2, 15, 4, 3},
		{"allgather/bruck", 8, 3, 24, 7, 3},
		{"allgather/bruck", 13, 4, 52, 12, 4},
		{"allgather/doubling", 5, 2, 15, 4, 3},
		{"allgather/doubling", 8, 3, 24, 7, 3},
		{"allgather/doubling", 13, 4, 52, 12, 4},
		{"allgather/ring", 5, 4, 20, 4, 4},
		{"allgather/ring", 8, 7, 56, 7, 7},
		{"allgather/ring", 13, 12, 156, 12, 12},
		{"alltoall/bruck", 5, 2, 15, 5, 3},
		{"alltoall/bruck", 8, 3, 24, 12, 3},
		{"alltoall/bruck", 13, 4, 52, 22, 4},
		{"alltoall/pairwise", 5, 4, 20, 4, 4},
		{"alltoall/pairwise", 8, 7, 56, 7, 7},
		{"alltoall/pairwise", 13, 12, 156, 12, 12},
		{"alltoall/linear", 5, 1, 20, 4, 4},
		{"alltoall/linear", 8, 1, 56, 7, 7},
		{"alltoall/linear", 13, 1, 156, 12, 12},
		{"gather/binomial", 5, 2, 4, 2, 2},
		{"gather/binomial", 8, 3, 7, 4, 3},
		{"gather/binomial", 13, 3, 12, 5, 4},
		{"gather/linear", 5, 1, 4, 1, 1},
		{"gather/linear", 13, 1, 12, 1, 1},
		{"scatter/binomial", 5, 2, 4, 4, 3},
		{"scatter/binomial", 8, 3, 7, 7, 3},
		{"scatter/binomial", 13, 3, 12, 12, 4},
		{"scatter/linear", 5, 1, 4, 4, 4},
		{"scatter/linear", 13, 1, 12, 12, 12},
	} {
		s := build(t, c.name, Params{Ranks: c.ranks})
		cost, ranks, err := verify.CostByRank(s)
		require.NoError(t, err)
		busiest := 0.0
		for _, r := range ranks {
			busiest = max(busiest, r.BytesOut)
		}
		fmt.Println(c, cost.Rounds, cost.Messages, busiest)
	}
}

// TestAnyCollective: every check holds for any parameters.
func TestAnyCollective(t *testing.T) {
	for _, alg := range Algorithms() {
		t.Run(alg.Name, func(t *testing.T) {
			rapid.Check(t, func(t *rapid.T) {
				ranks := rapid.IntRange(1, 20).Draw(t, "ranks")
				p := anyParams(t, &alg, ranks)
				s, err := New(alg.Name, p)
				require.NoError(t, err)
				all := s.Schedule()
				require.NoError(t, ir.Validate(all))
				report, err := verify.Run(all)
				require.NoError(t, err)
				require.NoError(t, report.Err(), "%+v", s.params)
				for _, rank := range rapid.Permutation(slices.Collect(func(yield func(int) bool) {
					for r := range ranks {
						if !yield(r) {
							return
						}
					}
				})).Draw(t, "order") {
					require.Equal(t, all.Programs[rank], s.Program(rank))
				}
			})
		})
	}
}

// anyParams draws parameters among that many ranks.
func anyParams(t *rapid.T, alg *Algorithm, ranks int) Params {
	draw := func(name string, lo, hi int) int {
		if !slices.Contains(alg.Params, name) {
			return 0
		}
		return rapid.IntRange(lo, hi).Draw(t, name)
	}
	return Params{
		Ranks:  ranks,
		Root:   draw(alg.rootName(), 0, ranks-1),
		Chunks: draw("chunks", 0, 5),
		Hosts:  draw("hosts", 0, ranks),
		Degree: draw("degree", 2, 6),
		FanIn:  draw("fan-in", 0, 6),
		FanOut: draw("fan-out", 0, 6),
	}
}
