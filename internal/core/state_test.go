package core

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/schedgen/schedgen/internal/deep"
	"github.com/schedgen/schedgen/ir"
	"github.com/schedgen/schedgen/runtime/wire"
	"github.com/schedgen/schedgen/schedule"
)

// spy keeps the frames of a core as text.
type spy struct{ sent []string }

func (s *spy) note(kind string, to int, f *wire.Frame) {
	s.sent = append(s.sent, kind+string(rune('0'+to))+f.Slot.String()+string(f.Body))
	f.Release()
}

func (s *spy) Put(to int, f *wire.Frame)      { s.note("put", to, f) }
func (s *spy) Mcast(f *wire.Frame)            { s.note("mcast", 0, f) }
func (s *spy) Datagram(to int, f *wire.Frame) { s.note("datagram", to, f) }

// A clone has the state of its core, does the same, and leaves the core alone.
func TestCloneIsAlikeAndApart(t *testing.T) {
	net := &spy{}
	c := New(Config{
		Rank: 2, Size: 4, Epoch: 1, Repair: 1000, Stall: 100000, Retain: 1 << 20, PublishWindow: 1, Overlay: nowhere{},
		Caps: wire.Caps{Multicast: true, Direct: true, Datagram: 4, Room: 4},
	}, net)
	plan := planOf(t, "bcast/mcast-acktree", schedule.Params{Ranks: 4, Chunks: 3}, 2)
	buf := []byte("............")
	c.Begin(plan, InPlace(buf))
	h := wire.Header{Kind: wire.FrameSlot, Lane: wire.LaneOps, Epoch: 1, Seq: 1, Print: plan.print(12), Len: 4, Slot: ir.Chunk(1)}
	require.Equal(t, wire.Accept, c.Fragment(&h, 0, []byte("bbbb")))
	c.Normalize()
	net.sent = nil
	before := deep.Append(nil, nil, c)

	d := deep.Copy(nil, c)
	copied, sent := d.ops.open(1).memory.areas[areaOut].bytes, d.env.net.(*spy)
	require.Equal(t, before, deep.Append(nil, nil, d))
	put := func(c *Core, k int, body string) {
		h := h
		h.Slot = ir.Chunk(k)
		dst, v := c.Body(&h)
		require.Equal(t, wire.Accept, v)
		copy(dst, body)
		c.Arrived(&h, dst)
	}
	run := func(c *Core) {
		put(c, 0, "aaaa")
		put(c, 2, "cccc")
		c.Normalize()
		for range 3 {
			for _, a := range c.Alarms(nil) {
				require.True(t, c.Ring(a), "%v", a)
			}
		}
	}
	run(d)
	require.Equal(t, before, deep.Append(nil, nil, c), "the core has not been touched")
	require.Equal(t, "....bbbb....", string(buf))
	require.Equal(t, "aaaabbbbcccc", string(copied))
	require.Empty(t, net.sent)
	require.NotEmpty(t, sent.sent)
	run(c)
	require.Equal(t, sent.sent, net.sent)
	require.Equal(t, deep.Append(nil, nil, d), deep.Append(nil, nil, c))
}

// A settled core stays settled: another tick at the same time changes nothing.
func TestSettledIsSettled(t *testing.T) {
	c := New(Config{Rank: 0, Size: 4, Epoch: 1, Repair: 1000, Stall: 100000, PublishWindow: 1, Overlay: nowhere{},
		Caps: wire.Caps{Multicast: true, Direct: true, Datagram: 4, Room: 4}}, &spy{})
	plan := planOf(t, "bcast/mcast-acktree", schedule.Params{Ranks: 4, Chunks: 3}, 0)
	c.Begin(plan, InPlace(make([]byte, 12)))
	c.Normalize()
	for range 4 {
		for _, a := range c.Alarms(nil) {
			require.True(t, c.Ring(a), "%v", a)
			before := deep.Append(nil, nil, c)
			c.Normalize()
			require.Equal(t, before, deep.Append(nil, nil, c), "after %v", a)
		}
	}
}
