package simnet

import (
	"testing"

	"github.com/stretchr/testify/require"
)

// holed returns a broadcast of 40 chunks, each of one datagram, among 8 ranks.
func holed(faults ...Fault) *Scenario {
	return still(8, faults, Op{Kind: OpBcast, Algorithm: acked, Chunks: 40, Bytes: 40 * 100})
}

// A chunk that a rank has missed costs one chunk, and no timeout.
func TestLostChunkIsAskedForAtOnce(t *testing.T) {
	sc := holed()
	for rank := 1; rank < 8; rank++ {
		sc.Faults = append(sc.Faults, drops(rank, ByMulticast, rank+10))
	}
	r := runs(t, sc)
	require.Less(t, r.End, base/2)
	for rank, n := range r.Cores[1:] {
		require.Equal(t, 1, n.LastPutChunks, "rank %d", rank+1)
	}
}

// A later chunk shows that a chunk is missing. No chunk follows the last one, so only a silence
// shows that it is missing.
func TestLostEndIsAskedFor(t *testing.T) {
	r := runs(t, holed(drops(5, ByMulticast, 37, 38, 39)))
	require.Equal(t, base, r.returned()[0])
	require.Equal(t, 3, r.Cores[5].LastPutChunks)
}

// A chunk that all ranks have missed comes from the root.
func TestChunkThatAllHaveLost(t *testing.T) {
	r := runs(t, holed(drops(-1, ByMulticast, 20)))
	for _, n := range r.Cores[1:] {
		require.Equal(t, 1, n.LastPutChunks)
	}
}

// A lost answer is asked for again after a quarter of the timeout, as long as the rank does not
// know how long answers take, and by put in the end.
func TestLostAnswerIsAskedForAgain(t *testing.T) {
	hole, answers := drops(5, ByMulticast, 20), drops(5, ByDatagram, 20)
	for until, want := range map[Time]Time{0: 0, base / 8: base / 4, Second: base / 2} {
		answers.Until = until
		r := runs(t, holed(hole, answers))
		require.Equal(t, want, r.returned()[0], "answers are lost for %d ns", until)
		require.Equal(t, 1, r.Cores[5].LastPutChunks)
	}
}

// A rank that is asked for a chunk that it also lacks passes the chunk on when it comes, so no
// timeout passes. If all ranks on the way round have lost it, the first rank among them that gets
// an acknowledgement from a rank with the chunk asks that rank (paper 002, section 3.3.4).
func TestChunkThatTheAskedHasLost(t *testing.T) {
	for _, lost := range []int{2, 3, 5} {
		var faults []Fault
		for _, rank := range []int{1, 3, 2, 5, 4}[:lost] { // each rank asks the next, and the last asks the first
			faults = append(faults, drops(rank, ByMulticast, 20))
		}
		r := runs(t, holed(faults...))
		require.LessOrEqual(t, r.End, 10*idle, "%d ranks: the background of one that has returned answers", lost)
		for _, f := range faults {
			require.Equal(t, 1, r.Cores[f.Host].LastPutChunks)
		}
	}
}

// While ranks see losses, they send signals as datagrams too. These arrive although puts are
// delayed.
func TestSignalsAreDoubledWhileLossesAreSeen(t *testing.T) {
	for losing, want := range map[bool]Time{false: 12 * Millisecond, true: 0} {
		sc := holed(Fault{Kind: FaultLoss, Host: -1, Until: Millisecond, PerMille: 1000, Way: ByPut})
		for rank := 1; losing && rank < 8; rank++ {
			sc.Faults = append(sc.Faults, drops(rank, ByMulticast, rank+10))
		}
		r := runs(t, sc)
		require.Equal(t, want, r.returned()[0], "the time until a lost put is sent again")
		for rank, n := range r.Cores[1:] {
			require.Equal(t, losing, n.Doubled > 0, "rank %d", rank+1)
		}
	}
}

// A rank that closes while losses are seen waits until it knows that its last signals have arrived.
// Ranks that have ended their operations confirm this. Otherwise the rank would repeat the signals
// for half a second.
func TestClosingWhileLossesAreSeen(t *testing.T) {
	sc := stream(acked, 100e6, 6, 4)
	sc.Script = append(sc.Script, Op{Kind: OpWait}, Op{Kind: OpBarrier, Algorithm: "barrier/hsb"})
	sc.Faults = []Fault{{Kind: FaultLoss, Host: -1, Until: 350 * Millisecond, PerMille: 50}}
	sc.Close = true
	r := runs(t, sc)
	require.Positive(t, r.Cores[1].Doubled)
	var last Time
	for _, c := range r.Calls {
		if c.Step < len(sc.Script) {
			last = max(last, c.Return)
		}
	}
	require.Less(t, r.End-last, 20*Millisecond)
}

// Broadcasts over a network that loses datagrams and delays puts.
func TestBroadcastsOverLosingNetwork(t *testing.T) {
	const rounds = 30
	sc := holed()
	for i := 1; i < rounds; i++ {
		op := sc.Script[0]
		op.Root = i % 8
		sc.Script = append(sc.Script, op)
	}
	for _, k := range []FaultKind{FaultLoss, FaultDuplicate, FaultReorder} {
		sc.Faults = append(sc.Faults, Fault{Kind: k, Host: -1, Until: 600 * Second, PerMille: 50, Amount: Millisecond})
	}
	require.Less(t, runs(t, sc).End, rounds*base/2, "losses cost no timeouts")
}
