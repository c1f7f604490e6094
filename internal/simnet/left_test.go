package simnet

import (
	"errors"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/schedgen/schedgen/internal/core"
)

// leavers returns a scenario in which ranks close as soon as their calls have returned. So ranks
// that wait for a silent rank may be left without a neighbour. A rank that says goodbye to the
// silent rank gives no sign of life while it lingers, up to four seconds, so Silence is longer than
// that.
func leavers(ranks int, faults []Fault, ops ...Op) *Scenario {
	sc := hush(ranks, faults, ops...)
	sc.Close, sc.Comm.Silence = true, 6*Second
	return sc
}

// A rank dies on its way to tell others which ranks are lost, and the ranks that know leave. Their
// goodbyes contain the lost ranks.
func TestLeavingRankNamesLostRanks(t *testing.T) {
	faults := []Fault{{Kind: FaultCrash, Rank: 1, From: 100 * Microsecond}, {Kind: FaultCrash, Rank: 2, From: 500 * Microsecond}}
	r := runs(t, leavers(18, faults, Op{Kind: "alltoall", Algorithm: "alltoall/linear", Bytes: 1000}))
	named := 0
	for _, c := range r.Calls {
		var lost *core.LostError
		if c.Err != nil && c.Rank != 2 {
			require.ErrorAs(t, c.Err, &lost)
			require.Equal(t, []int{1}, lost.Ranks, "rank %d", c.Rank)
			named++
		}
	}
	require.Equal(t, 16, named)
}

// A rank that has left without saying goodbye to this rank takes no connections, and the agreement
// of the remaining ranks does not name it as lost.
func TestRankThatHasLeftIsNotLost(t *testing.T) {
	r := runs(t, leavers(19, []Fault{{Kind: FaultSilent, Rank: 1}}, Op{Kind: OpBcast, Algorithm: "bcast/mcast-acktree", Bytes: 1000}))
	for rank, named := range r.lossesOf(t, []int{1}) {
		require.Subset(t, []int{1}, named, "rank %d", rank)
	}
}

// foundAlone is the latest time at which a rank without neighbours knows of a silence that begins
// at 0. After six seconds the rank asks the ranks that it waits for, sixteen in an eighth of that
// time, and counts six more seconds. Then all remaining ranks agree. This takes some seconds,
// because a rank asks the ranks that may have left, twice as many each time, and finds that they
// take no connections. Among 200 ranks all of this takes 20.3 seconds.
const foundAlone = 19 * Second

// A rank that waits for a vanished rank finds it, even when all ranks near the vanished rank have
// left. No rank that has left is named as lost.
func TestWaitingRankNoticesVanishedHost(t *testing.T) {
	for _, c := range []struct {
		op    Op
		dead  int
		waits []int // ranks that wait for it
	}{
		{Op{Kind: "gather", Algorithm: "gather/linear", Bytes: 1000}, 25, []int{0}},
		{Op{Kind: OpBcast, Algorithm: "bcast/binomial", Bytes: 1000}, 8, []int{9, 10, 11, 12, 13, 14, 15}},
		{Op{Kind: OpBcast, Algorithm: "bcast/binomial", Bytes: 1000}, 36, []int{37, 38, 39}},
		{Op{Kind: OpBcast, Algorithm: "bcast/binomial", Bytes: 1000}, 38, []int{39}},
	} {
		r := runs(t, leavers(40, []Fault{{Kind: FaultSilent, Rank: c.dead}}, c.op))
		var failed []int
		for _, call := range r.Calls {
			if call.Err == nil {
				continue
			}
			var lost *core.LostError
			require.ErrorAs(t, call.Err, &lost, "%s, rank %d", c.op.Algorithm, call.Rank)
			require.Equal(t, []int{c.dead}, lost.Ranks, "%s, rank %d", c.op.Algorithm, call.Rank)
			require.Less(t, call.Return, foundAlone)
			failed = append(failed, call.Rank)
		}
		require.Subset(t, failed, c.waits, c.op.Algorithm)
	}
}

// Several ranks die at once while others leave. Every call of the others ends. Failed calls name
// the same ranks, as every run checks, and no rank that has left.
func TestDeathsAmongLeavingRanks(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		size := rapid.IntRange(18, 70).Draw(rt, "ranks")
		dead := rapid.SliceOfNDistinct(rapid.IntRange(0, size-1), 1, 4, rapid.ID).Draw(rt, "dead")
		ops := rapid.SliceOfN(rapid.SampledFrom(steps()), 1, 3).Draw(rt, "steps")
		kind := rapid.SampledFrom([]FaultKind{FaultSilent, FaultCrash, FaultPause}).Draw(rt, "kind")
		f := Fault{Kind: kind, From: rapid.SampledFrom([]Time{0, 100 * Microsecond, 200 * Microsecond, 300 * Microsecond}).Draw(rt, "at")}
		if f.Kind == FaultPause {
			f.Until = 120 * Second
		}
		sc := leavers(size, nil, ops...)
		for _, f.Rank = range dead {
			sc.Faults = append(sc.Faults, f)
		}
		r := runs(rt, sc)
		ended := make([]int, size)
		for _, c := range r.Calls {
			ended[c.Rank]++
			if c.Err != nil {
				ended[c.Rank] = len(ops)
			}
			var lost *core.LostError
			if errors.As(c.Err, &lost) {
				require.Subset(rt, dead, lost.Ranks, "rank %d", c.Rank)
			}
		}
		for rank, n := range ended {
			require.True(rt, slices.Contains(dead, rank) || n == len(ops), "rank %d hangs", rank)
		}
	})
}

// The same holds for every schedule, whichever rank vanishes, and whenever: every call of the
// others ends, and failed calls name only that rank.
func TestLeavingRanksNoticeVanishedHost(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		size := rapid.IntRange(18, 70).Draw(rt, "ranks")
		dead := rapid.IntRange(0, size-1).Draw(rt, "dead")
		at := rapid.SampledFrom([]Time{0, 100 * Microsecond, 200 * Microsecond, 300 * Microsecond, 500 * Microsecond, Millisecond}).Draw(rt, "at")
		ops := rapid.SliceOfN(rapid.SampledFrom(steps()), 1, 2).Draw(rt, "steps")
		sc := leavers(size, []Fault{{Kind: FaultSilent, Rank: dead, From: at}}, ops...)
		r := runs(rt, sc)
		ended := make([]int, size)
		for _, c := range r.Calls {
			ended[c.Rank]++
			if c.Err != nil {
				require.Less(rt, c.Return, foundAlone)
				var lost *core.LostError
				require.ErrorAs(rt, c.Err, &lost, "rank %d", c.Rank)
				require.Equal(rt, []int{dead}, lost.Ranks, "rank %d", c.Rank)
				ended[c.Rank] = len(ops)
			}
		}
		for rank, n := range ended {
			require.True(rt, rank == dead || n == len(ops), "rank %d hangs", rank)
		}
	})
}
