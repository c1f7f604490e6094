package cli

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/schedgen/schedgen/internal/source"
	"github.com/schedgen/schedgen/schedule"
	"github.com/schedgen/schedgen/verify"
)

// TestRepliesItself checks that an algorithm is taken to reply by itself if, and only if, check
// acked applies to it.
func TestRepliesItself(t *testing.T) {
	for _, name := range candidates(schedule.Bcast, true) {
		spec, err := source.New(name, schedule.Params{Ranks: 5})
		require.NoError(t, err)
		report, err := verify.Run(spec.Schedule())
		require.NoError(t, err)
		require.NoError(t, report.Err())
		for _, r := range report.Results {
			if r.Check == "acked" {
				require.Equal(t, r.Applies, schedule.Acknowledged(name), name)
			}
		}
	}
}

func TestCandidates(t *testing.T) {
	require.Contains(t, candidates(schedule.Bcast, true), "bcast/mcast-acktree")
	require.NotContains(t, candidates(schedule.Bcast, false), "bcast/mcast-acktree")
	require.Contains(t, candidates(schedule.Barrier, false), "barrier/hsb")
	require.Equal(t, []string{"anycast/skip-ring", "anycast/circulant"}, candidates(schedule.Anycast, false))
	require.Contains(t, candidates(schedule.Anycast, true), "anycast/mcast-acktree")
}
