package main

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/schedgen/schedgen/schedule"
	"github.com/schedgen/schedgen/verify"
)

// TestMarks checks that a message of an earlier iteration is not taken for the timed one.
func TestMarks(t *testing.T) {
	for _, size := range []int64{1, 2, 1000} {
		b := newBuffers(&job{Collective: schedule.Bcast, Size: size, Params: schedule.Params{Ranks: 3}})
		var wrong findings
		b.mark(300)
		b.check(&wrong, 300)
		require.Zero(t, wrong)
		b.check(&wrong, 301)
		require.Equal(t, 1, wrong.Count)
		b.dst[size-1]++
		b.check(&wrong, 300)
		require.Equal(t, 2, wrong.Count)
		b.dst = b.dst[1:]
		b.check(&wrong, 300)
		require.Equal(t, 3, wrong.Count)
	}
	var wrong findings
	b := newBuffers(&job{Collective: schedule.Bcast, Params: schedule.Params{Ranks: 3}})
	b.mark(1)
	b.check(&wrong, 1)
	require.Zero(t, wrong)
}

// TestRepliesItself checks that an algorithm is taken to reply by itself if, and only if, check
// acked applies to it.
func TestRepliesItself(t *testing.T) {
	for _, name := range candidates(schedule.Bcast, true) {
		spec, err := newSpec(name, schedule.Params{Ranks: 5})
		require.NoError(t, err)
		report, err := verify.Run(spec.Schedule())
		require.NoError(t, err)
		require.NoError(t, report.Err())
		for _, r := range report.Results {
			if r.Check == "acked" {
				require.Equal(t, r.Applies, repliesItself(name), name)
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

// TestTimed checks that only the time of the root counts if the root waits for replies.
func TestTimed(t *testing.T) {
	for _, op := range operations() {
		for _, root := range []bool{false, true} {
			require.Equal(t, op.name != "bcast_ack" || root, op.timedAt(root), "%s, root %v", op.name, root)
		}
	}
}
