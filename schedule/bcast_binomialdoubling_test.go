package schedule

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/schedgen/schedgen/internal/test/heavy"
	"github.com/schedgen/schedgen/ir"
)

// bcast/binomial-doubling passes the conformance suite.
func TestBinomialDoubling(t *testing.T) { conform(t, "bcast/binomial-doubling") }

// TestBinomialDoublingFigure3 checks the pattern of paper 000, §4.1: in round i every rank that has
// the message sends it to the rank 2^(i-1) after it.
func TestBinomialDoublingFigure3(t *testing.T) {
	s := buildOf(t, "bcast/binomial-doubling", Params{Ranks: 8})
	for rank, want := range [][]int{{1, 2, 4}, {3, 5}, {6}, {7}, nil, nil, nil, nil} {
		require.Equal(t, want, targets(s.Programs[rank]), "rank %d", rank)
	}
}

// TestBinomialDoublingIsNeverLonger checks that both binomial trees are the same if P is a power of
// two. Otherwise the tree by distance doubling is never longer in the LogGP model.
func TestBinomialDoublingIsNeverLonger(t *testing.T) {
	for ranks := 2; ranks <= heavy.Or(130, 300); ranks++ {
		halving, doubling := buildOf(t, "bcast/binomial", Params{Ranks: ranks}), buildOf(t, "bcast/binomial-doubling", Params{Ranks: ranks})
		for _, bytes := range []int{1, 1 << 10, 64 << 10} {
			if a, b := makespan(t, halving, bytes), makespan(t, doubling, bytes); ranks&(ranks-1) == 0 {
				require.Equal(t, a, b, "P=%d, %d bytes", ranks, bytes)
			} else {
				require.GreaterOrEqual(t, a, b, "P=%d, %d bytes", ranks, bytes)
			}
		}
	}
}

// TestBinomialBetweenHosts checks that distance halving keeps the ranks of a sub-tree together and
// that distance doubling scatters them.
func TestBinomialBetweenHosts(t *testing.T) {
	between := func(s *ir.Schedule) int {
		n := 0
		for rank, p := range s.Programs {
			for _, to := range targets(p) {
				n += count(rank/8 != to/8)
			}
		}
		return n
	}
	require.Equal(t, 7, between(buildOf(t, "bcast/binomial", Params{Ranks: 64})))
	require.Equal(t, 56, between(buildOf(t, "bcast/binomial-doubling", Params{Ranks: 64})))
}
