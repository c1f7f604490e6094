package core

import (
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/schedgen/schedgen/internal/core/internal/moment"
	"github.com/schedgen/schedgen/runtime/wire"
	"github.com/schedgen/schedgen/schedule"
)

// rootOfChain is the root of bcast/mcast-chain among 3 ranks, and its frames. A window of 4 bytes
// makes messages of more than one chunk long.
func rootOfChain(t *testing.T) (c *Core, plan *Plan, net *spy) {
	return rootOfChainOver(t, wire.Caps{Multicast: true, Direct: true, Datagram: 4, Room: 4})
}

func rootOfChainOver(t *testing.T, caps wire.Caps) (c *Core, plan *Plan, net *spy) {
	net = &spy{}
	c = New(Config{Rank: 0, Size: 3, Epoch: 1, Repair: 1000, Stall: 100000, PublishWindow: 1, Overlay: nowhere{}, Caps: caps}, net)
	return c, planOf(t, "bcast/mcast-chain", schedule.Params{Ranks: 3, Chunks: 4}, 0), net
}

// tells makes rank 1 report how much it has of operation seq.
func tells(c *Core, plan *Plan, seq uint64, have int) {
	h := wire.Header{Kind: wire.FrameWant, Lane: wire.LaneControl, Epoch: 1, Seq: seq, Print: printOf(plan, 16, seq), Arg: uint32(have), From: 1}
	c.Arrived(&h, nil)
	c.Normalize()
}

// takes makes rank 1 report how far the multicast has come at all ranks.
func takes(c *Core, plan *Plan, seq uint64, chunk int) {
	h := wire.Header{Kind: wire.FrameTaken, Lane: wire.LaneControl, Epoch: 1, Seq: seq, Print: printOf(plan, 16, seq), Arg: uint32(chunk), From: 1}
	c.Arrived(&h, nil)
	c.Normalize()
}

// putsOf returns the chunks that have been sent by put.
func putsOf(net *spy) (puts []string) {
	for _, s := range net.sent {
		if strings.HasPrefix(s, "put1c") {
			puts = append(puts, s[len("put1"):])
		}
	}
	return puts
}

// begun returns the number of the last operation.
func begun(c *Core) uint64 {
	seq, _ := c.Seq()
	return seq
}

func silence(t *testing.T, c *Core) {
	require.Contains(t, c.Alarms(nil), Alarm{AlarmYield, begun(c), 1})
	require.True(t, c.Ring(Alarm{AlarmYield, begun(c), 1}))
}

// Chunks that the successor reports to have are not put, and the call waits until that is known for
// every chunk.
func TestPutsYield(t *testing.T) {
	c, plan, net := rootOfChain(t)
	c.Begin(plan, InPlace([]byte("aaaabbbbccccdddd")))
	c.Normalize()
	tells(c, plan, 1, 2)
	takes(c, plan, 1, 4)
	require.Empty(t, putsOf(net))
	require.False(t, c.Ready(begun(c)))
	tells(c, plan, 1, 4)
	require.Empty(t, putsOf(net))
	require.True(t, c.Ready(begun(c)))
}

// A silent rank is put the chunks that it lacks. In the next operation it is put chunks at once,
// until it reports.
func TestSilentRankIsPutEverything(t *testing.T) {
	c, plan, net := rootOfChain(t)
	buf := []byte("aaaabbbbccccdddd")
	c.Begin(plan, InPlace(buf))
	c.Normalize()
	tells(c, plan, 1, 1)
	takes(c, plan, 1, 4)
	silence(t, c)
	require.Equal(t, []string{"c1bbbb"}, putsOf(net), "it may be about to tell")
	silence(t, c)
	silence(t, c)
	require.Equal(t, []string{"c1bbbb", "c2cccc", "c3dddd"}, putsOf(net))
	require.True(t, c.Ready(begun(c)))
	c.End(begun(c))

	net.sent = nil
	c.Begin(plan, InPlace(buf))
	takes(c, plan, 2, 4)
	require.Equal(t, []string{"c0aaaa", "c1bbbb", "c2cccc", "c3dddd"}, putsOf(net))
	require.True(t, c.Ready(begun(c)))
	tells(c, plan, 2, 3)
	c.End(begun(c))

	net.sent = nil
	c.Begin(plan, InPlace(buf))
	takes(c, plan, 3, 4)
	require.Empty(t, putsOf(net))
	require.False(t, c.Ready(begun(c)))
}

// Reports before the call begins count; a rank that is a whole ring ahead has everything.
func TestToldEarly(t *testing.T) {
	c, plan, net := rootOfChain(t)
	tells(c, plan, 1, 3)
	takes(c, plan, 1, 4)
	c.Begin(plan, InPlace([]byte("aaaabbbbccccdddd")))
	c.Normalize()
	silence(t, c)
	require.Equal(t, []string{"c3dddd"}, putsOf(net))
	c.End(begun(c))

	net.sent = nil
	tells(c, plan, 2+Remembered, 0)
	c.Begin(plan, InPlace([]byte("aaaabbbbccccdddd")))
	takes(c, plan, 2, 4)
	require.Empty(t, putsOf(net))
	require.False(t, slices.Contains(c.Alarms(nil), Alarm{AlarmYield, begun(c), 1}))
}

// An operation with yielding puts is not settled: a chunk of a later operation in front of them
// would hold them up at a receiver that waits for them first.
func TestLaterPutsWaitForThoseThatYield(t *testing.T) {
	for what, release := range map[string]func(*testing.T, *Core, *Plan){
		"reported": func(_ *testing.T, c *Core, plan *Plan) { tells(c, plan, 1, 4) },
		"silent":   func(t *testing.T, c *Core, _ *Plan) { require.True(t, c.Ring(Alarm{AlarmYield, 1, 1})) },
	} {
		t.Run(what, func(t *testing.T) {
			c, plan, net := rootOfChain(t)
			c.Begin(plan, InPlace([]byte("aaaabbbbccccdddd")))
			later := planOf(t, "bcast/chain", schedule.Params{Ranks: 3, Chunks: 1}, 0)
			c.Begin(later, InPlace([]byte("late")))
			takes(c, plan, 1, 4)
			require.NotContains(t, putsOf(net), "c0late")
			release(t, c, plan)
			for rang := 0; slices.Contains(c.Alarms(nil), Alarm{AlarmYield, 1, 1}); rang++ {
				require.Less(t, rang, 4)
				release(t, c, plan)
			}
			puts := putsOf(net)
			require.Equal(t, "c0late", puts[len(puts)-1])
			require.NotContains(t, puts[:len(puts)-1], "c0late")
		})
	}
}

// TestShortMessagesDoNotWait checks that short messages, and all messages of schedules without
// multicasts, are put at once.
func TestShortMessagesDoNotWait(t *testing.T) {
	for what, caps := range map[string]wire.Caps{
		"short": {Multicast: true, Direct: true, Datagram: 4, Room: 16},
		"alone": {},
	} {
		c, plan, net := rootOfChainOver(t, caps)
		c.Begin(plan, InPlace([]byte("aaaabbbbccccdddd")))
		require.Len(t, putsOf(net), 4, what)
		require.True(t, c.Ready(begun(c)), what)
	}
}

// A report of more chunks than there are is a violation by put, and is dropped as a datagram.
func TestReportOfTooMuch(t *testing.T) {
	c, plan, _ := rootOfChain(t)
	c.Begin(plan, InPlace([]byte("aaaabbbbccccdddd")))
	h := wire.Header{Kind: wire.FrameWant, Lane: wire.LaneControl, Epoch: 1, Seq: 1, Print: plan.print(16), Arg: 5, From: 1}
	require.Equal(t, wire.Drop, c.Fragment(&h, 0, nil))
	require.NoError(t, c.Err())
	c.Arrived(&h, nil)
	require.ErrorIs(t, c.Err(), ErrProtocol)
}

// The root waits much longer for a rank that has reported in the operation, since that rank asks
// for what it lacks. A rank is not silent in an operation while it lacks chunks of an earlier one.
func TestSilenceIsNotLack(t *testing.T) {
	const base = 1000
	c, plan, net := rootOfChain(t)
	buf := []byte("aaaabbbbccccdddd")
	c.Begin(plan, InPlace(buf))
	c.Begin(plan, InPlace(buf))
	for _, seq := range []uint64{1, 2} {
		h := wire.Header{Kind: wire.FrameTaken, Lane: wire.LaneControl, Epoch: 1, Seq: seq, Print: printOf(plan, 16, seq), Arg: 4, From: 1}
		c.Arrived(&h, nil)
	}
	now := Time(1)
	until := func(end Time) {
		for ; now < end; now += base / 10 {
			c.Tick(now)
		}
	}
	until(base / 2)
	h := wire.Header{Kind: wire.FrameWant, Lane: wire.LaneControl, Epoch: 1, Seq: 1, Print: plan.print(16), Arg: 2, From: 1}
	c.Arrived(&h, nil)
	until(20 * base)
	require.Empty(t, putsOf(net), "it asks for the rest of the first, and may not have begun the second")
	until(4 * moment.Longest(base))
	require.Subset(t, putsOf(net), []string{"c2cccc", "c3dddd", "c0aaaa"})
}
