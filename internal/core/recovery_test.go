package core

import (
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/schedgen/schedgen/ir"
	"github.com/schedgen/schedgen/runtime/wire"
	"github.com/schedgen/schedgen/schedule"
)

// A rank that hears one multicast does not ask for the next one, however long that takes. It asks
// when both fall silent.
func TestNoCryBehindAnotherMulticast(t *testing.T) {
	const base = Time(20e6)
	net := &spy{}
	c := New(Config{
		Rank: 2, Size: 4, Epoch: 1, Repair: base, Overlay: nowhere{}, PublishWindow: 1,
		Caps: wire.Caps{Multicast: true, Direct: true, Datagram: 4},
	}, net)
	plan := planOf(t, "bcast/mcast-acktree", schedule.Params{Ranks: 4, Chunks: 200}, 2)
	for range 2 {
		c.Begin(plan, InPlace(make([]byte, 800)))
	}
	now := Time(1)
	for k := range 199 {
		h := wire.Header{Kind: wire.FrameSlot, Lane: wire.LaneOps, Epoch: 1, Seq: 1, Print: plan.print(800), Len: 4, Slot: ir.Chunk(k)}
		require.Equal(t, wire.Accept, c.Fragment(&h, 0, make([]byte, 4)))
		c.Tick(now)
		now += base / 8
	}
	require.Empty(t, net.sent)
	c.Tick(now + base)
	require.NotEmpty(t, net.sent)
}

// A repair puts the chunks that its rank has not been given, each once, however often it is made:
// puts are reliable. Rank 1 has all five chunks, and rank 2 has asked for the second one.
func TestRepairPutsEachChunkOnce(t *testing.T) {
	const base, chunks = Time(20e6), 5
	net := &recorder{}
	c := New(Config{
		Rank: 0, Size: 4, Epoch: 1, Repair: base, Stall: 250e6, Overlay: nowhere{}, PublishWindow: 1,
		Caps: wire.Caps{Multicast: true, Direct: true, Datagram: 4},
	}, net)
	c.Begin(planOf(t, "bcast/mcast-acktree", schedule.Params{Ranks: 4, Chunks: chunks}, 0), InPlace(make([]byte, 4*chunks)))
	c.Tick(1)
	h := wire.Header{Kind: wire.FrameWant, Lane: wire.LaneControl, Epoch: 1, Seq: 1, Print: c.ops.print, Len: 8, From: 2}
	c.Arrived(&h, []byte{0, 0, 0, 1, 0, 0, 0, 1})
	c.take(wire.Header{Kind: wire.FrameWant, Lane: wire.LaneControl, Epoch: 1, Seq: 1, Print: c.ops.print, Arg: chunks, From: 1})
	goOn(c, 1, 300*base, func() {})
	times := map[int][]int{1: make([]int, chunks), 2: make([]int, chunks)}
	for _, f := range net.puts {
		if f.head.Kind == wire.FrameSlot && f.head.Slot.Kind() == ir.KindChunk {
			times[f.to][f.head.Slot.Index()]++
		}
	}
	require.Equal(t, map[int][]int{1: slices.Repeat([]int{0}, chunks), 2: slices.Repeat([]int{1}, chunks)}, times)
	require.Greater(t, c.Counters().Repairs, uint64(2), "they are made again")
}

// A chunk that a rule puts to a rank, and for which that rank asks, is put once: whether the request
// comes before the chunk, after it, or while the put waits for an earlier operation.
func TestRuleAndRequestPutOnce(t *testing.T) {
	for _, of := range []struct {
		name    string
		waits   bool // an earlier operation has not settled here
		request bool // comes before the chunk
	}{{"the request first", false, true}, {"the chunk first", false, false}, {"the put waits", true, false}, {"the request first, and the put waits", true, true}} {
		t.Run(of.name, func(t *testing.T) {
			net := &recorder{}
			c := New(Config{
				Rank: 2, Size: 6, Epoch: 1, Repair: 20e6, Stall: 250e6, Overlay: nowhere{}, PublishWindow: 1,
				Caps: wire.Caps{Multicast: true, Direct: true, Datagram: 4},
			}, net)
			if of.waits {
				c.Begin(planOf(t, "barrier/dissemination", schedule.Params{Ranks: 6}, 2), InPlace(nil))
			}
			c.Begin(planOf(t, "bcast/mcast-acktree", schedule.Params{Ranks: 6, Hosts: 3, Chunks: 2}, 2), InPlace(make([]byte, 8)))
			seq, slave := c.ops.seq, 3
			want := wire.Header{Kind: wire.FrameWant, Lane: wire.LaneControl, Epoch: 1, Seq: seq, Print: c.ops.print, Len: 8, From: slave}
			if of.request {
				c.Arrived(&want, []byte{0, 0, 0, 0, 0, 0, 0, 1})
			}
			h := wire.Header{Kind: wire.FrameSlot, Lane: wire.LaneOps, Epoch: 1, Seq: seq, Print: c.ops.print, Len: 4, Slot: ir.Chunk(0)}
			require.Equal(t, wire.Accept, c.Fragment(&h, 0, []byte("aaaa")))
			if !of.request {
				c.Arrived(&want, []byte{0, 0, 0, 0, 0, 0, 0, 1})
			}
			entered := wire.Header{Kind: wire.FrameEntered, Lane: wire.LaneControl, Epoch: 1, Seq: seq, Print: c.ops.print, From: slave}
			c.Arrived(&entered, nil)
			puts := 0
			for _, f := range net.puts {
				if f.to == slave && f.head.Kind == wire.FrameSlot && f.head.Slot == ir.Chunk(0) {
					puts++
				}
			}
			require.Equal(t, 1, puts)
		})
	}
}

// A repair of a long message puts a part of it, and the rest when that part has left.
func TestRepairOfALongMessage(t *testing.T) {
	const base, chunks, bytes = Time(20e6), 500, 500 << 10
	net := &recorder{}
	c := New(Config{
		Rank: 0, Size: 2, Epoch: 1, Repair: base, Stall: 250e6, Overlay: nowhere{}, PublishWindow: 1,
		Caps: wire.Caps{Multicast: true, Direct: true, Datagram: 1024},
	}, net)
	c.Begin(planOf(t, "bcast/mcast-acktree", schedule.Params{Ranks: 2, Chunks: chunks}, 0), InPlace(make([]byte, bytes)))
	now := goOn(c, 1, base+2, func() {})
	some := len(net.puts)
	require.Equal(t, 256, some)
	goOn(c, now, now+base/4+1, func() {})
	require.Len(t, net.puts, chunks)
}
