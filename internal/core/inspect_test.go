package core

import (
	"encoding/json"
	"errors"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/schedgen/schedgen/internal/core/mismatch"
	"github.com/schedgen/schedgen/internal/core/presence"
	"github.com/schedgen/schedgen/internal/deep"
	"github.com/schedgen/schedgen/ir"
	"github.com/schedgen/schedgen/runtime/wire"
	"github.com/schedgen/schedgen/schedule"
)

// lossyCaps describes a network that may lose multicasts.
var lossyCaps = wire.Caps{Multicast: true, Direct: true, Datagram: 4, Room: 40}

func inspected(t *testing.T, rank int, net Net) *Core {
	return New(Config{
		Rank: rank, Size: 4, Epoch: 1, Repair: 1000, Stall: 100000, Silence: 8e9, Retain: 1 << 20, PublishWindow: 1, Overlay: nowhere{}, Caps: lossyCaps,
	}, net)
}

// A rank that has some chunks says which ones it lacks, in runs, and for how long.
func TestInspectionOfABroadcast(t *testing.T) {
	c := inspected(t, 2, &spy{})
	plan := planOf(t, "bcast/mcast-acktree", schedule.Params{Ranks: 4, Chunks: 6}, 2)
	c.Begin(plan, InPlace(make([]byte, 24)))
	o := c.Inspect(40).Open[0]
	require.Zero(t, o.Age, "no tick has come yet")
	c.Tick(50)
	h := wire.Header{Kind: wire.FrameSlot, Epoch: 1, Seq: 1, Print: plan.print(24), Len: 4, Slot: ir.Chunk(1)}
	require.Equal(t, wire.Accept, c.Fragment(&h, 0, []byte("bbbb")))
	c.Tick(60)

	in := c.Inspect(1060)
	require.EqualValues(t, 1, in.Begun)
	require.Zero(t, in.Ended)
	require.Len(t, in.Open, 1)
	o = in.Open[0]
	require.Equal(t, "bcast/mcast-acktree", o.Name)
	require.Equal(t, []int{24, 6, 0}, []int{o.Bytes, o.Chunks, o.Root})
	require.Equal(t, Time(1010), o.Age)
	require.Equal(t, Time(1000), o.Quiet)
	require.Equal(t, []Run{{ir.Chunk(0), ir.Chunk(0)}, {ir.Chunk(2), ir.Chunk(5)}, {ir.Signal(0), ir.Signal(0)}}, o.Missing.Runs)
	require.Equal(t, []int{5, 1}, []int{o.Missing.Chunks, o.Missing.Signals})
	require.Equal(t, []int{1, 0}, []int{o.FromMcast, o.FromPut})
	text, err := json.Marshal(o.Missing.Runs)
	require.NoError(t, err)
	require.JSONEq(t, `["c0", "c2-c5", "s0"]`, string(text))
}

// Inspect changes nothing: neither the state nor the next steps.
func TestInspectionChangesNothing(t *testing.T) {
	c := inspected(t, 2, &spy{})
	c.Begin(planOf(t, "barrier/hsb", schedule.Params{Ranks: 4}, 2), InPlace(nil))
	before := deep.Append(nil, nil, c)
	first := c.Inspect(10)
	require.Equal(t, first, c.Inspect(10))
	require.Equal(t, before, deep.Append(nil, nil, c))
	require.Equal(t, -1, first.Open[0].Root)
}

// A chunk that is put while the sender has not settled earlier operations is listed as postponed,
// with the receiver that has not entered.
func TestInspectionNamesAwaitedRanks(t *testing.T) {
	c := inspected(t, 0, &spy{})
	barrier := planOf(t, "barrier/hsb", schedule.Params{Ranks: 4}, 0)
	chain := planOf(t, "bcast/chain", schedule.Params{Ranks: 4, Chunks: 3}, 0)
	c.Begin(barrier, InPlace(nil))
	c.Begin(chain, InPlace(make([]byte, 3)))
	c.Arrived(&wire.Header{Kind: wire.FrameAbsent, Lane: wire.LaneControl, Epoch: 1, Seq: 1, Print: away, Arg: 3, From: 3}, nil)
	in := c.Inspect(10)
	require.Equal(t, []int{3}, in.Open[0].Absent)
	require.Equal(t, []int{3}, in.Open[1].Absent, "who has not entered one has not entered the next")
	require.Equal(t, "entry", in.Open[1].Waiting[0].For)
	require.Equal(t, []int{1}, in.Open[1].Waiting[0].Ranks)
	require.Equal(t, 3, in.Open[1].Waiting[0].Count)
}

func TestInspectionOfPeers(t *testing.T) {
	c := inspected(t, 0, &spy{})
	c.Ended(1, wire.Refused, errors.New("nobody listens"))
	c.Arrived(&wire.Header{Kind: wire.FrameLeave, Lane: wire.LaneControl, Epoch: 1, Seq: 7, From: 2}, nil)
	c.Ended(3, wire.Closed, nil)
	require.Equal(t, []Peer{
		{Rank: 1, State: "suspected", Cause: "nobody listens"}, {Rank: 2, State: "left", Last: 7}, {Rank: 3, State: "left"},
	}, c.Inspect(10).Peers)
	c.Ended(2, wire.Broken, errors.New("reset"))
	c.Tick(1)
	c.Tick(2 + presence.Suspicion)
	require.Equal(t, "lost", c.Inspect(10).Peers[0].State)
}

// A rank that waits for long says which rank it watches, and how long that rank has been silent.
func TestInspectionOfAWatch(t *testing.T) {
	c := inspected(t, 1, &spy{})
	require.Nil(t, c.Inspect(1).Watch)
	c.Begin(planOf(t, "barrier/hsb", schedule.Params{Ranks: 4}, 1), InPlace(nil))
	c.Tick(1)
	c.Tick(200000)
	c.Tick(200001)
	require.Equal(t, &Watch{Rank: 2, Quiet: 500000, Limit: 8e9}, c.Inspect(700000).Watch)
}

func TestRunsOfSlotsAsText(t *testing.T) {
	for text, want := range map[string]Run{
		"c0": {ir.Chunk(0), ir.Chunk(0)}, "c4-c17": {ir.Chunk(4), ir.Chunk(17)}, "s3": {ir.Signal(3), ir.Signal(3)}, "enter": {ir.Enter, ir.Enter},
	} {
		var r Run
		require.NoError(t, r.UnmarshalText([]byte(text)))
		require.Equal(t, want, r)
		require.Equal(t, text, r.String())
	}
	for _, bad := range []string{"", "-", "c1-", "c4-c3", "c1-s2", "x1", "c01"} {
		require.Error(t, new(Run).UnmarshalText([]byte(bad)), bad)
	}
	require.Equal(t, []ir.Slot{ir.Chunk(4), ir.Chunk(5)}, Run{ir.Chunk(4), ir.Chunk(9)}.Slots(nil, 2))
}

// Events are traced once for each slot, whatever arrives again.
func TestTrace(t *testing.T) {
	var got []Event
	c := New(Config{
		Rank: 1, Size: 3, Epoch: 1, Repair: 1000, Stall: 100000, PublishWindow: 1, Overlay: nowhere{}, Caps: lossyCaps,
		Trace: func(e Event) { got = append(got, e) },
	}, &spy{})
	barrier := planOf(t, "barrier/dissemination", schedule.Params{Ranks: 3, Degree: 2}, 1)
	signal := func(seq uint64) {
		h := wire.Header{Kind: wire.FrameSlot, Lane: wire.LaneOps, Epoch: 1, Seq: seq, Print: barrier.print(0), Slot: ir.Signal(0), From: 0}
		c.Arrived(&h, nil)
	}
	signal(1) // before the rank has entered
	c.Begin(barrier, InPlace(nil))
	signal(1)
	require.Equal(t, []Event{
		{EventArrived, 1, ir.Signal(0), 0}, {EventPut, 1, ir.Signal(0), 2}, {EventPut, 1, ir.Signal(1), 0},
	}, got)

	got = nil
	chain := planOf(t, "bcast/mcast-chain", schedule.Params{Ranks: 3, Chunks: 2}, 1)
	c.Begin(chain, InPlace(make([]byte, 8)))
	h := wire.Header{Kind: wire.FrameSlot, Epoch: 1, Seq: 2, Print: mismatch.Following(barrier.print(0), chain.print(8)), Len: 4, Slot: ir.Chunk(0), From: 0}
	for range 2 {
		require.Equal(t, wire.Accept, c.Fragment(&h, 0, []byte("aaaa")))
	}
	require.Equal(t, EventReceived, got[0].Kind)
	require.Equal(t, 1, countOf(got, EventReceived))
	_, verdict := c.Body(&wire.Header{Kind: wire.FrameSlot, Lane: wire.LaneOps, Epoch: 1, Seq: 2, Print: mismatch.Following(barrier.print(0), chain.print(8)), Len: 4, Slot: ir.Chunk(0), From: 0})
	require.Equal(t, wire.Drop, verdict)
}

func countOf(events []Event, k EventKind) (n int) {
	for _, e := range events {
		if e.Kind == k {
			n++
		}
	}
	return n
}

// Tracing does not change what is sent.
func TestTraceChangesNothing(t *testing.T) {
	sent := func(trace func(Event)) []string {
		net := &spy{}
		c := New(Config{
			Rank: 0, Size: 4, Epoch: 1, Repair: 1000, Stall: 100000, PublishWindow: 1, Overlay: nowhere{}, Caps: lossyCaps, Trace: trace,
		}, net)
		c.Begin(planOf(t, "bcast/mcast-acktree", schedule.Params{Ranks: 4, Chunks: 3}, 0), InPlace([]byte("............")))
		for now := Time(1); now < 20000; now += 500 {
			c.Tick(now)
		}
		return net.sent
	}
	kinds := map[EventKind]bool{}
	require.Equal(t, sent(nil), sent(func(e Event) { kinds[e.Kind] = true }))
	require.True(t, kinds[EventMcast] && kinds[EventRepair] && kinds[EventPut], kinds)
}
