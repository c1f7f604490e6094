package main

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/schedgen/schedgen/schedule"
	"github.com/schedgen/schedgen/verify"
)

// A message that stayed behind is not taken for the one that is timed.
func TestMarks(t *testing.T) {
	for _, size := range []int{1, 2, 1000} {
		buf := make([]byte, size)
		var wrong findings
		mark(buf, 300)
		checkMark(&wrong, buf, size, 300)
		require.Zero(t, wrong)
		checkMark(&wrong, buf, size, 301)
		require.Equal(t, 1, wrong.Count)
		checkMark(&wrong, buf, size+1, 300)
		require.Equal(t, 2, wrong.Count)
		buf[size-1]++
		checkMark(&wrong, buf, size, 300)
		require.Equal(t, 3, wrong.Count)
	}
	var wrong findings
	mark(nil, 1)
	checkMark(&wrong, nil, 0, 1)
	require.Zero(t, wrong)
}

// An algorithm is taken to reply by itself if, and only if, that is proved of
// it.
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
}

// Waiting for replies is the root's business: its time alone counts.
func TestTimed(t *testing.T) {
	for _, op := range []string{opBarrier, opBcast, opBcastAck, opBcastBarrier, opAnycast, opAnycastLoop} {
		for rank := range 2 {
			w := worker{job: &job{Operation: op, Rank: rank}}
			require.Equal(t, op != opBcastAck || rank == 0, w.timed(), "%s at rank %d", op, rank)
		}
	}
}
