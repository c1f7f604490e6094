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
// puts are reliable. Rank 2 has asked for the second of five chunks.
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
	goOn(c, 1, 300*base, func() {})
	times := map[int][]int{1: make([]int, chunks), 2: make([]int, chunks)}
	for _, f := range net.puts {
		if f.head.Kind == wire.FrameSlot && f.head.Slot.Kind() == ir.KindChunk {
			times[f.to][f.head.Slot.Index()]++
		}
	}
	for rank, n := range times {
		require.Equal(t, slices.Repeat([]int{1}, chunks), n, "rank %d", rank)
	}
	require.Greater(t, c.Counters().Repairs, uint64(2), "they are made again")
}
