package schedule

import (
	"math/bits"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/schedgen/schedgen/ir"
)

// TestLargeRecovery compares the recovery of one rank among up to a million with the programs of
// the ranks that it deals with.
func TestLargeRecovery(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s, rank := largeSpec(t, "bcast/mcast-acktree")
		p, root := s.Program(rank), s.params.Root
		require.NoError(t, ir.ValidateRecovery(new(s.Header()), &p))
		for _, from := range p.ReportFrom {
			reporter := s.Program(int(from))
			require.True(t, reporter.Reports)
			require.EqualValues(t, rank, reporter.ReportTo)
		}
		if p.Reports {
			require.Contains(t, s.Program(int(p.ReportTo)).ReportFrom, int32(rank))
			require.EqualValues(t, root, p.Ask[len(p.Ask)-1])
		} else {
			require.Empty(t, p.Ask)
			require.Equal(t, s.layout.home, s.layout.host(rank))
		}
		for _, a := range p.Twice {
			require.True(t, slices.ContainsFunc(p.Rules, func(r ir.Rule) bool { return !r.IsRepair() && slices.Contains(r.Do, a) }))
		}
		require.Equal(t, rank != root, len(p.Twice) == 1)
		requireClimbs(t, s, p)
	})
}

// TestLargeRecoveryOfChain does the same for the chain, where every rank reports to the rank that
// puts it every chunk.
func TestLargeRecoveryOfChain(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s, rank := largeSpec(t, "bcast/mcast-chain")
		p, root := s.Program(rank), s.params.Root
		require.NoError(t, ir.ValidateRecovery(new(s.Header()), &p))
		require.Equal(t, len(p.ReportFrom) > 0, p.Yields())
		for _, from := range p.ReportFrom {
			reporter := s.Program(int(from))
			require.True(t, reporter.Reports)
			require.EqualValues(t, rank, reporter.ReportTo)
		}
		if !p.Reports {
			require.Empty(t, p.Ask)
			return
		}
		require.Equal(t, []int32{int32(rank)}, s.Program(int(p.ReportTo)).ReportFrom)
		require.EqualValues(t, root, p.Ask[len(p.Ask)-1])
		require.Len(t, p.Ask, min(2, s.layout.hosts-1))
	})
}

// requireClimbs follows reports to the root.
func requireClimbs(t *rapid.T, s *Spec, p ir.Program) {
	for hops := 0; p.Reports; hops++ {
		require.LessOrEqual(t, hops, 1+bits.Len(uint(s.layout.hosts)))
		p = s.Program(int(p.ReportTo))
	}
	require.True(t, s.layout.host(p.Rank) == s.layout.home)
}

// TestAskedInTurn follows the ranks that are asked first. No rank asks the root if there is another
// rank to ask, and a path that returns to its start has passed every child of the root.
func TestAskedInTurn(t *testing.T) {
	for n := 3; n <= 300; n++ {
		for v := 1; v < n; v++ {
			seen := make([]bool, n)
			at := v
			for ; !seen[at]; at = askFirst(at, n) {
				seen[at] = true
				if next := askFirst(at, n); next == 0 || next == at {
					t.Fatalf("%d of %d asks %d", at, n, next)
				}
			}
			for child := 1; child < n; child *= 2 {
				if !seen[child] {
					t.Fatalf("%d is not asked from %d of %d", child, v, n)
				}
			}
		}
	}
	require.Zero(t, askFirst(1, 2))
}
