package simnet

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/schedgen/schedgen/internal/core"
	"github.com/schedgen/schedgen/ir"
	"github.com/schedgen/schedgen/runtime/wire"
)

// The tests of this file, of gaps and of deaths state each fault. The network has no other faults
// and takes some nanoseconds, so only timeouts take time.

const (
	base = 20 * Millisecond  // Comm.Repair
	idle = 200 * Microsecond // Comm.Idle
)

// still returns a scenario on a network with only the given faults.
func still(ranks int, faults []Fault, ops ...Op) *Scenario {
	return &Scenario{Ranks: ranks, Net: Net{Multicast: true, Datagram: 100, Ordered: true}, Faults: faults, Script: ops}
}

// drops loses all packets of a way to a rank, or only the packets of some chunks.
func drops(rank int, way Way, chunks ...int) Fault {
	return Fault{Kind: FaultLoss, Host: rank, Until: 600 * Second, PerMille: 1000, Way: way, Chunks: chunks}
}

// deaf loses all datagrams to some ranks.
func deaf(ranks ...int) (faults []Fault) {
	for _, rank := range ranks {
		faults = append(faults, drops(rank, ByMulticast), drops(rank, ByDatagram))
	}
	return faults
}

// runs runs a scenario and requires that all promises are kept.
func runs(t require.TestingT, sc *Scenario) *Result {
	r, err := Run(sc, nil)
	require.NoError(t, err)
	require.NoError(t, r.Violation)
	return r
}

// returned returns, by rank, when the rank's last call returned, in full microseconds.
func (r *Result) returned() []Time {
	times := make([]Time, len(r.Cores))
	for _, c := range r.Calls {
		times[c.Rank] = c.Return / Microsecond * Microsecond
	}
	return times
}

// A rank that gets an ACK for a message that it lacks asks the sender of the ACK at once (paper
// 002, section 3.3.4). No timeout passes; at most the background of a rank that has returned must
// first take over. That rank answers from the message that it kept, because its buffer holds other
// bytes by then.
func TestUnmatchedAckIsAskedForAtOnce(t *testing.T) {
	r := runs(t, still(8, deaf(2, 4, 6), Op{Kind: OpBcast, Algorithm: acked, Bytes: 5}))
	require.LessOrEqual(t, r.End, 10*idle)
}

// Without kept messages, the repairs of the parent bring the message.
func TestRepairsWithoutKeptMessages(t *testing.T) {
	sc := still(4, deaf(2), Op{Kind: OpBcast, Algorithm: acked, Bytes: 5})
	sc.Comm.Retain = 1
	require.Equal(t, 2*base, runs(t, sc).returned()[2])
}

// A timeout grows with the level of the child whose ACK is missing (paper 002, section 3.3.4). All
// multicasts and all requests are lost, so the message goes down the tree by repairs. A child of
// level j gets it j+1 base timeouts after its parent.
func TestRepairTimeoutsGrowWithTheLevel(t *testing.T) {
	sc := still(8, []Fault{drops(-1, ByMulticast), drops(-1, ByDatagram)}, Op{Kind: OpBcast, Algorithm: acked, Bytes: 5})
	r, err := run(sc, nil, tamper{wrap: func(_ int, n core.Net) core.Net {
		return liar{n, func(f *wire.Frame) *wire.Frame {
			if f.Kind == wire.FrameWant {
				return nil
			}
			return f
		}}
	}})
	require.NoError(t, err)
	require.NoError(t, r.Violation)
	require.Equal(t, []Time{
		0: 6 * base, // the last ACK is from 4, which waits for 6, which waits for 7
		1: 1 * base,
		2: 3 * base, // has the message after 2, waits for 3
		3: 3 * base,
		4: 6 * base,
		5: 4 * base,
		6: 6 * base,
		7: 6 * base,
	}, r.returned())
}

// A multicast that reaches no rank costs one timeout, not one for each level of the tree: ranks
// that hear nothing ask.
func TestLostMulticastCostsOneTimeout(t *testing.T) {
	for _, ranks := range []int{2, 3, 8, 15, 64, 150} {
		sc := still(ranks, []Fault{drops(-1, ByMulticast), drops(-1, ByDatagram)},
			Op{Kind: OpBcast, Algorithm: acked, Bytes: 1}, Op{Kind: OpBcast, Algorithm: acked, Bytes: 1})
		require.LessOrEqual(t, runs(t, sc).End, 2*(base+10*idle), "%d ranks", ranks)
	}
}

// A late root is asked. It puts nothing that its multicast brings.
func TestLateRootPutsNothing(t *testing.T) {
	for _, late := range []Time{base / 2, 3 * base / 2, 5 * base, 50 * base} {
		sc := still(15, []Fault{{Kind: FaultLate, Rank: 0, Until: late}}, Op{Kind: OpBcast, Algorithm: acked, Bytes: 1})
		puts := 0
		r, err := run(sc, nil, tamper{wrap: func(_ int, n core.Net) core.Net {
			return liar{n, func(f *wire.Frame) *wire.Frame {
				if f.Kind == wire.FrameSlot && f.Slot.Kind() == ir.KindChunk {
					puts++
				}
				return f
			}}
		}})
		require.NoError(t, err)
		require.NoError(t, r.Violation)
		require.LessOrEqual(t, r.End, late+10*idle)
		require.Zero(t, puts, "%v", late)
	}
}

// An adaptive root waits longer if ranks miss its multicasts and enter late. It does not if all
// ranks hear them, nor if ranks miss them that have entered.
func TestAdaptiveRootDelay(t *testing.T) {
	delay := func(faults []Fault, others Time) Time {
		sc := still(3, faults)
		for range 60 { // reports arrive before the barrier's signals
			if others > 0 {
				sc.Script = append(sc.Script, Op{Kind: OpCompute, Time: others})
			}
			sc.Script = append(sc.Script, Op{Kind: OpBcast, Algorithm: chained, Bytes: 5}, Op{Kind: OpBarrier, Algorithm: "barrier/hsb"})
		}
		sc.Comm.Delay = core.DelayAdaptive
		return runs(t, sc).Cores[0].Delay
	}
	require.Greater(t, delay(deaf(1, 2), 2*Millisecond), 200*Microsecond)
	require.Less(t, delay(deaf(1, 2), 0), 100*Microsecond)
	require.Less(t, delay(nil, 0), 100*Microsecond)
}

// A root that hears of many losses chooses a tree as the second stage (paper 000, section 5): the
// message reaches ten ranks in a row that lose all multicasts in half as many hops as along the chain. If few
// ranks lose multicasts, it keeps the chain.
func TestAdaptiveRootChoosesTheSecondStage(t *testing.T) {
	const hop = 50 * Microsecond
	hops := func(delay core.DelayPolicy, algorithm string, lose ...int) Time {
		sc := still(16, deaf(lose...))
		sc.Net.Up.Delay, sc.Net.Down.Delay = hop/2, hop/2
		for range 60 {
			sc.Script = append(sc.Script, Op{Kind: OpBcast, Algorithm: algorithm, Bytes: 5}, Op{Kind: OpBarrier, Algorithm: "barrier/hsb"})
		}
		sc.Comm.Delay = delay
		var from, to Time
		for _, c := range runs(t, sc).Calls {
			if c.Step == len(sc.Script)-2 {
				if to = max(to, c.Return); c.Rank == 0 {
					from = c.Enter
				}
			}
		}
		return (to - from) / hop
	}
	many := []int{1, 2, 3, 4, 5, 6, 7, 8, 9, 10}
	tree := hops(core.DelayNone, "bcast/mcast-binomial", many...)
	require.EqualValues(t, 10, hops(core.DelayNone, chained, many...))
	require.LessOrEqual(t, tree, Time(5))
	require.LessOrEqual(t, hops(core.DelayAdaptive, chained, many...), tree+2)
	require.LessOrEqual(t, hops(core.DelayAdaptive, chained, 5, 6), hops(core.DelayNone, chained, 5, 6)+2, "the word of the drawn rank takes a hop or two")
}
