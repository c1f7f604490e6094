package simnet

import (
	"errors"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/schedgen/schedgen/internal/core"
)

// casting returns a scenario in which ranks publish, flush, and then take.
func casting(t *rapid.T, most int) *Scenario {
	size := rapid.IntRange(1, most).Draw(t, "ranks")
	window := rapid.IntRange(1, 6).Draw(t, "window")
	sc := still(size, nil)
	sc.Seed = rapid.Uint64().Draw(t, "seed")
	sc.Close, sc.Net.Ordered = true, false
	sc.Net.Up.Delay, sc.Net.Down.Delay = 25*Microsecond, 25*Microsecond
	sc.Comm.PublishWindow = window
	sc.Comm.Anycast = rapid.SampledFrom(algorithms("anycast")).Draw(t, "anycast")
	for range rapid.IntRange(1, 4).Draw(t, "rounds") {
		root := rapid.IntRange(-1, size-1).Draw(t, "origin")
		sc.Script = append(sc.Script, Op{Kind: OpPublish, Root: root, Count: window, Bytes: 200})
		sc.Script = append(append(sc.Script, sc.flushing()...), Op{Kind: OpTake})
	}
	return sc
}

// Ranks that flush before they take, with full windows, all return, and all ranks have the flushed
// messages. This holds whatever the network loses and whichever rank pauses, although each rank
// closes as soon as its wait ends.
func TestFlush(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		sc := casting(rt, 20)
		for range rapid.IntRange(0, 3).Draw(rt, "faults") {
			f := Fault{
				Kind: rapid.SampledFrom([]FaultKind{FaultLoss, FaultReorder, FaultPause, FaultLate}).Draw(rt, "fault"), Host: -1,
				Rank: rapid.IntRange(0, sc.Ranks-1).Draw(rt, "rank"), PerMille: rapid.IntRange(1, 500).Draw(rt, "per mille"),
				Until: Time(rapid.IntRange(0, 200).Draw(rt, "until")) * Millisecond, Amount: Millisecond,
			}
			sc.Faults = append(sc.Faults, f)
		}
		for _, c := range runs(rt, sc).Calls {
			require.NoError(rt, c.Err)
		}
	})
}

// A rank that dies ends every flush that waits for it, at all ranks, with its name in the error.
// This holds even if its connections do not end.
func TestFlushOfTheDead(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		sc := casting(rt, 20)
		if sc.Ranks == 1 {
			rt.Skip("nobody to wait for")
		}
		dead := rapid.IntRange(0, sc.Ranks-1).Draw(rt, "dead")
		kind := rapid.SampledFrom([]FaultKind{FaultCrash, FaultSilent}).Draw(rt, "fault")
		from := Time(rapid.IntRange(0, 400).Draw(rt, "from")) * Microsecond
		sc.Faults = []Fault{{Kind: kind, Rank: dead, From: from}}
		sc.Comm.Silence, sc.Net.GiveUp, sc.Close = Second, 3600*Second, false
		for range 100 {
			sc.Script = append(sc.Script, Op{Kind: OpPublish, Root: -1, Count: sc.Comm.PublishWindow, Bytes: 50}, Op{Kind: OpFlush}, Op{Kind: OpTake})
		}
		r := runs(rt, sc)
		for rank, knows := range r.knowing() {
			require.Equal(rt, rank != dead, knows, "rank %d", rank)
		}
		for _, c := range r.Calls {
			var about *core.RankError
			if errors.As(c.Err, &about) {
				require.Equal(rt, dead, about.Rank, "rank %d: %v", c.Rank, c.Err)
				require.Less(rt, c.Return, 100*Millisecond+noticed, "rank %d: %v", c.Rank, c.Err)
			}
		}
	})
}

// If processes take nothing, full windows prevent neither flushing, nor other ranks' publishing,
// nor operations.
func TestFlushOfFullWindows(t *testing.T) {
	for _, name := range algorithms("anycast") {
		sc := still(9, nil)
		sc.Comm.Anycast, sc.Comm.PublishWindow = name, 4
		for origin := range 9 {
			sc.Script = append(sc.Script, Op{Kind: OpPublish, Root: origin, Count: 4, Bytes: 100}, Op{Kind: OpFlush},
				Op{Kind: OpBarrier, Algorithm: "barrier/dissemination"})
		}
		sc.Script = append(sc.Script, Op{Kind: OpTake})
		for _, c := range runs(t, sc).Calls {
			require.NoError(t, c.Err)
		}
	}
}

// A rank that waits for room also learns of a host that has vanished.
func TestPublisherNoticesVanishedHost(t *testing.T) {
	for _, dead := range []int{1, 5, 10} {
		sc := hush(11, []Fault{{Kind: FaultSilent, Rank: dead}}, Op{Kind: OpPublish, Count: 9})
		sc.Comm.PublishWindow = 4
		r := runs(t, sc)
		require.ErrorIs(t, r.Calls[len(r.Calls)-1].Err, core.ErrPeerLost)
		require.True(t, r.knowing()[0])
		require.Less(t, r.End, noticed)
	}
}
