package core

import (
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
