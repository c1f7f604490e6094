package core

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/schedgen/schedgen/internal/core/mismatch"
	"github.com/schedgen/schedgen/internal/deep"
	"github.com/schedgen/schedgen/ir"
	"github.com/schedgen/schedgen/runtime/wire"
	"github.com/schedgen/schedgen/schedule"
)

// A rank knows its past calls for long, whatever the lengths of messages between barriers.
func TestWordsOfThePast(t *testing.T) {
	for n := range 200 {
		c := New(Config{Rank: 1, Size: 2, Epoch: 1, PublishWindow: 1, Overlay: nowhere{}}, new(shelved))
		bcast := planOf(t, "bcast/linear", schedule.Params{Ranks: 2, Root: 1, Chunks: 1}, 1)
		barrier := planOf(t, "barrier/dissemination", schedule.Params{Ranks: 2}, 1)
		for seq := uint64(1); seq <= 300; seq++ {
			p, buf := bcast, make([]byte, n)
			if seq%2 == 0 {
				p, buf = barrier, nil
			}
			o := &c.ops.ring[0]
			c.ops.print = c.ops.next(p, len(buf))
			c.ops.seq++
			o.begin(c.ops.seq, c.ops.print, p, InPlace(buf))
			c.ops.history.Note(o.seq, o.print, p.print(o.key), p, o.key)
			o.free()
		}
		require.Contains(t, c.ops.describe(299, 0), fmt.Sprintf("bcast of %d bytes from root 1", n))
		require.Contains(t, c.ops.describe(200, 0), "barrier by barrier/dissemination")
		first := bcast.print(n) // all that another rank knows
		require.Contains(t, c.ops.describe(1, c.ops.history.Own(1, first)), fmt.Sprintf("bcast of %d bytes from root 1", n), "by what another rank says")
	}
}

// A rank that repeats a call still knows it thousands of operations later.
func TestWordsOfRepeatedCalls(t *testing.T) {
	c := New(Config{Rank: 0, Size: 2, Epoch: 1, PublishWindow: 1, Overlay: nowhere{}}, new(shelved))
	plan := planOf(t, "bcast/linear", schedule.Params{Ranks: 2, Chunks: 1}, 0)
	for seq := uint64(1); seq <= 5000; seq++ {
		n := 8
		if seq > 4000 {
			n = 9
		}
		c.Begin(plan, InPlace(make([]byte, n)))
		require.True(t, c.Ready(seq))
		c.End(seq)
	}
	for seq, want := range map[uint64]string{1: "bcast of 8 bytes", 4000: "bcast of 8 bytes", 4001: "bcast of 9 bytes", 5000: "bcast of 9 bytes"} {
		require.Contains(t, c.ops.describe(seq, 0), want, "operation %d", seq)
	}
	require.NotContains(t, c.ops.describe(5001, 0), "bcast", "that has not begun")
}

// The report of a mismatch fits into a control frame.
func TestClashFits(t *testing.T) {
	var h mismatch.History
	for seq := uint64(1); seq <= 1000; seq++ {
		h.Note(seq, 1, 1, new(Plan), 0)
	}
	require.LessOrEqual(t, len(mismatch.Encode(string(make([]byte, 5000)), h.Before(1001), mostWords)), wire.MaxControl)
}

// differing is rank 2 of four, and its plan of a broadcast of eight bytes.
func differing(t *testing.T) (*Core, *Plan) {
	return inspected(t, 2, &spy{}), planOf(t, "bcast/mcast-acktree", schedule.Params{Ranks: 4, Chunks: 2}, 2)
}

// take offers a frame, and takes it if c accepts it.
func (c *Core) take(h wire.Header) {
	if dst, v := c.Body(&h); v == wire.Accept {
		c.Arrived(&h, dst)
	}
}

// Every kind of frame shows the mismatch if rank 3 has called another operation, and none does if it
// has made the same call.
func TestFramesOfOtherCalls(t *testing.T) {
	frame := func(h wire.Header, lane wire.Lane) func(c *Core, fingerprint uint32) {
		return func(c *Core, fingerprint uint32) {
			h.Lane, h.Epoch, h.Seq, h.Print, h.From = lane, 1, 1, fingerprint, 3
			c.take(h)
		}
	}
	chunk := wire.Header{Kind: wire.FrameSlot, Slot: ir.Chunk(0), Len: 4}
	chunks := wire.Header{Kind: wire.FrameSlot, Slot: ir.Chunk(0), Len: 8, Arg: 1}
	signal := wire.Header{Kind: wire.FrameSlot, Slot: ir.Signal(0)}
	for _, of := range []struct {
		name  string
		say   func(c *Core, fingerprint uint32)
		early bool // before this rank has called the operation
	}{
		{"a chunk", frame(chunk, wire.LaneOps), false},
		{"two chunks", frame(chunks, wire.LaneOps), false},
		{"a signal", frame(signal, wire.LaneOps), false},
		{"an early signal", frame(signal, wire.LaneOps), true},
		{"a request", frame(wire.Header{Kind: wire.FrameWant}, wire.LaneControl), false},
		{"a report", frame(wire.Header{Kind: wire.FrameTaken}, wire.LaneControl), false},
		{"the wish to put", frame(wire.Header{Kind: wire.FrameCall}, wire.LaneControl), false},
		{"the early wish to put", frame(wire.Header{Kind: wire.FrameCall}, wire.LaneControl), true},
		{"its entry", frame(wire.Header{Kind: wire.FrameEntered}, wire.LaneControl), false},
		{"a probe", frame(wire.Header{Kind: wire.FrameProbe}, wire.LaneControl), false},
		{"a note", func(c *Core, fingerprint uint32) { c.Noted(3, 1, fingerprint) }, false},
		{"a flag", func(c *Core, fingerprint uint32) { c.Stray(wire.Flag{Seq: 1, Mark: mark(fingerprint, 1), From: 3}) }, false},
	} {
		t.Run(of.name, func(t *testing.T) {
			for _, other := range []uint32{0, 2} {
				c, plan := differing(t)
				if of.early {
					of.say(c, plan.print(8)^other)
					require.False(t, c.fate.disputes(), "this rank may be about to call the same")
				}
				c.Begin(plan, InPlace(make([]byte, 8)))
				if !of.early {
					of.say(c, plan.print(8)^other)
				}
				require.NoError(t, c.Err())
				require.Equal(t, other != 0, c.fate.disputes())
				if other != 0 {
					about, text := c.fate.dispute.Mismatch()
					require.Equal(t, 3, about)
					require.Contains(t, text, "rank 2 called bcast of 8 bytes from root 0 by bcast/mcast-acktree")
				}
			}
		})
	}
}

// The same holds for an operation that this rank has forgotten.
func TestFramesOfOtherPastCalls(t *testing.T) {
	for name, h := range map[string]wire.Header{
		"a signal":     {Kind: wire.FrameSlot, Lane: wire.LaneOps, Slot: ir.Signal(0)},
		"an intention": {Kind: wire.FrameCall, Lane: wire.LaneControl},
		"a probe":      {Kind: wire.FrameProbe, Lane: wire.LaneControl},
	} {
		c := New(Config{Rank: 0, Size: 4, Epoch: 1, PublishWindow: 1, Overlay: nowhere{}}, &spy{})
		plan := planOf(t, "bcast/linear", schedule.Params{Ranks: 4, Chunks: 1}, 0)
		for seq := range uint64(3 * Remembered) {
			c.Begin(plan, InPlace(make([]byte, 8)))
			c.End(seq + 1)
		}
		own, ok := c.ops.history.Past(2)
		require.True(t, ok)
		h.Epoch, h.Seq, h.From = 1, 2, 3
		for _, h.Print = range []uint32{own, own ^ 2} {
			c.take(h)
			require.Equal(t, h.Print != own, c.fate.disputes(), name)
		}
	}
}

// A datagram of a rank that has called something else counts for nothing: datagrams may come from
// anywhere, and late.
func TestDatagramsOfOtherCalls(t *testing.T) {
	for name, c := range map[string]struct {
		h    wire.Header
		body string
	}{
		"a multicast": {wire.Header{Kind: wire.FrameSlot, Slot: ir.Chunk(1), Len: 4, From: 0}, "cccc"},
		"an answer":   {wire.Header{Kind: wire.FrameSlot, Slot: ir.Chunk(1), Len: 4, From: 3, Arg: isAnswer}, "cccc"},
		"a signal":    {wire.Header{Kind: wire.FrameSlot, Slot: ir.Signal(0), From: 3}, ""},
		"a request":   {wire.Header{Kind: wire.FrameWant, Arg: 1, Len: 8, From: 3}, "\x00\x00\x00\x00\x00\x00\x00\x01"},
	} {
		t.Run(name, func(t *testing.T) {
			core, plan := differing(t)
			core.Begin(plan, InPlace(make([]byte, 8)))
			before, stale := deep.Append(nil, nil, core), core.ops.totals.Stale
			h := c.h
			h.Epoch, h.Seq, h.Print = 1, 1, plan.print(8)^2
			require.Equal(t, wire.Drop, core.Fragment(&h, 0, []byte(c.body)))
			require.Equal(t, stale+1, core.ops.totals.Stale)
			require.Equal(t, before, deep.Append(nil, nil, core))
			require.Equal(t, make([]byte, 8), core.ops.open(1).memory.areas[areaOut].bytes)
			h.Print = plan.print(8)
			require.Equal(t, wire.Accept, core.Fragment(&h, 0, []byte(c.body)))
			require.NotEqual(t, before, deep.Append(nil, nil, core), "it counts from a rank that has called the same")
		})
	}
}

// A frame or a datagram of another version of the membership counts for nothing, and neither does a
// multicast of a rank that does not hold the chunk.
func TestFramesOfOtherMemberships(t *testing.T) {
	c, plan := differing(t)
	c.Begin(plan, InPlace(make([]byte, 8)))
	before := deep.Append(nil, nil, c)
	for i, h := range []wire.Header{
		{Kind: wire.FrameSlot, Slot: ir.Chunk(1), Len: 4},
		{Kind: wire.FrameSlot, Slot: ir.Signal(0), From: 3},
		{Kind: wire.FrameLeave, Lane: wire.LaneControl, From: 3},
		{Kind: wire.FrameAbort, Lane: wire.LaneControl, From: 3},
		{Kind: wire.FramePublish, Lane: wire.LaneControl, From: 3},
	} {
		h.Epoch, h.Seq, h.Print = 2, 1, plan.print(8)
		_, v := c.Body(&h)
		require.Equal(t, wire.Drop, v)
		require.Equal(t, wire.Drop, c.Fragment(&h, 0, make([]byte, h.Len)))
		require.Equal(t, before, deep.Append(nil, nil, c), "frame %d", i)
	}
	h := wire.Header{Kind: wire.FrameSlot, Epoch: 1, Seq: 1, Print: plan.print(8), Slot: ir.Chunk(1), Len: 4, From: 3}
	require.Equal(t, wire.Drop, c.Fragment(&h, 0, make([]byte, 4)), "only the root multicasts")
	h.From = 0
	require.Equal(t, wire.Accept, c.Fragment(&h, 0, make([]byte, 4)))
}

// If the first difference is older than the frame that shows it, the ranks find it, and all of them
// have the same words.
func TestFirstDifference(t *testing.T) {
	l := newLanes(2)
	for rank := range l.cores {
		c := New(Config{Rank: rank, Size: 2, Epoch: 1, PublishWindow: 1, Overlay: nowhere{}}, l.net(rank))
		l.cores[rank] = c
		c.Begin(planOf(t, "bcast/linear", schedule.Params{Ranks: 2, Root: rank, Chunks: 1}, rank), InPlace(make([]byte, 8)))
		c.End(1)
	}
	for rank, c := range l.cores {
		l.lose(rank, 1-rank) // the chunks
		c.Begin(planOf(t, "barrier/dissemination", schedule.Params{Ranks: 2}, rank), InPlace(nil))
	}
	l.deliverAll(t)
	for _, c := range l.cores {
		require.ErrorIs(t, c.Err(), ErrMismatch)
		require.ErrorContains(t, c.Err(), "operation 1: rank 0 called bcast of 8 bytes from root 0 by bcast/linear")
		require.ErrorContains(t, c.Err(), "rank 1 called bcast of 8 bytes from root 1 by bcast/linear")
	}
}

// A rank that knows both sides of a mismatch tells the lowest rank that has not left.
func TestJudge(t *testing.T) {
	for _, left := range []int{0, 1} {
		net := &probed{}
		c := New(Config{Rank: 2, Size: 4, Epoch: 1, PublishWindow: 1, Overlay: nowhere{}}, net)
		for rank := range left {
			c.Ended(rank, wire.Closed, nil)
		}
		c.fate.propose(3, "words")
		require.Equal(t, []int{left}, net.to)
		require.NoError(t, c.Err(), "the judge answers")
	}
}

// A rank that waits for the words of another rank waits no longer when that rank leaves.
func TestWordsOfARankThatLeaves(t *testing.T) {
	c := New(Config{Rank: 0, Size: 4, Epoch: 1, PublishWindow: 1, Overlay: nowhere{}}, &spy{})
	c.Begin(planOf(t, "bcast/linear", schedule.Params{Ranks: 4, Chunks: 1}, 0), InPlace(make([]byte, 8)))
	c.Noted(3, 1, c.ops.print^2)
	require.True(t, c.fate.disputes())
	c.Ended(2, wire.Closed, nil)
	require.NoError(t, c.Err())
	c.Ended(3, wire.Closed, nil)
	require.ErrorIs(t, c.Err(), ErrMismatch)
}

// The same holds for multicast messages. A rank that has failed takes no datagrams, since it may have
// told others what it has.
func TestMessagesOfOtherMemberships(t *testing.T) {
	c := New(Config{
		Rank: 1, Size: 3, Epoch: 1, PublishWindow: 4, PublishBytes: 100, MaxMessage: 10, Overlay: star(3), Spread: true,
		Caps: wire.Caps{Multicast: true, Direct: true, Datagram: 10},
	}, &discard{})
	c.Begin(planOf(t, "bcast/mcast-acktree", schedule.Params{Ranks: 3, Chunks: 1}, 1), InPlace(make([]byte, 8)))
	h := wire.Header{Kind: wire.FramePublish, Epoch: 2, Len: 1}
	require.Equal(t, wire.Drop, c.Fragment(&h, 0, []byte("x")))
	require.Zero(t, c.Came(0))
	h.Epoch = 1
	require.Equal(t, wire.Accept, c.Fragment(&h, 0, []byte("x")))
	require.EqualValues(t, 1, c.Came(0))
	chunk := wire.Header{Kind: wire.FrameSlot, Epoch: 1, Seq: 1, Print: c.ops.print, Slot: ir.Chunk(0), Len: 8}
	c.Ended(2, wire.Broken, errAway)
	h.Seq = 1
	require.Equal(t, wire.Drop, c.Fragment(&h, 0, []byte("y")))
	require.EqualValues(t, 1, c.Came(0))
	require.Equal(t, wire.Drop, c.Fragment(&chunk, 0, make([]byte, 8)))
}
