package core

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/schedgen/schedgen/internal/deep"
	"github.com/schedgen/schedgen/ir"
	"github.com/schedgen/schedgen/runtime/machine"
	"github.com/schedgen/schedgen/runtime/wire"
)

// A chunk that comes from another rank while this rank folds it in parts is not folded any further:
// others may read it already, and would see a partial result.
func TestChunkComesWhileItIsFolded(t *testing.T) {
	s, err := ir.ParseText(strings.NewReader(`schedule allreduce/mine ranks=2 chunks=1
rank 0
  enter v0 -> put x0 @1 as v0
  enter v0 s0 -> fold c0 = x0 v0
  c0 -> mcast c0
  done c0
rank 1
  enter -> put x0 @0 as v0
  v0 -> put s0 @0
  enter v0 -> fold c0 = v0 x0
  done c0
`))
	require.NoError(t, err)
	of, err := machine.Of(s)
	require.NoError(t, err)
	compiled, err := of.Compile(1)
	require.NoError(t, err)
	c := New(Config{Rank: 1, Size: 2, Epoch: 1, Repair: 20e6, Stall: 250e6, FoldAtOnce: 4, PublishWindow: 1, Overlay: nowhere{}}, &discard{})
	out := make([]byte, 12)
	c.Begin(NewPlan(&s.Header, compiled, of.Program(0), 0), Buffers{In: []byte("111111111111"), Out: out, Block: 12, Fold: sum})
	arrive := func(s ir.Slot, body string) {
		h := &wire.Header{Kind: wire.FrameSlot, Lane: wire.LaneOps, Epoch: 1, Seq: 1, Slot: s, Print: c.ops.lookup(1).print, Len: len(body)}
		dst, verdict := c.Body(h)
		require.Equal(t, wire.Accept, verdict)
		copy(dst, body)
		c.Arrived(h, dst)
	}
	arrive(ir.Value(0), "aaaaaaaaaaaa")
	require.True(t, c.Work())
	require.NotZero(t, out[0])
	require.Zero(t, out[4], "one part is folded")
	arrive(ir.Chunk(0), "the contents")
	for c.Work() {
	}
	require.Equal(t, "the contents", string(out))
	require.True(t, c.ops.lookup(1).ready())
}

// Two ranks whose unfinished folds differ, in their order or in how far they are, have different
// states.
func TestUnfinishedFoldsAreState(t *testing.T) {
	s, err := ir.ParseText(strings.NewReader(`schedule allreduce/mine ranks=2 chunks=2
rank 0
  enter -> put x0 @1 as v0, put x1 @1 as v1
  enter v0 -> fold c0 = x0 v0
  enter v1 -> fold c1 = x1 v1
  done c0 c1
rank 1
  enter -> put x0 @0 as v0, put x1 @0 as v1
  enter v0 -> fold c0 = v0 x0
  enter v1 -> fold c1 = v1 x1
  done c0 c1
`))
	require.NoError(t, err)
	of, err := machine.Of(s)
	require.NoError(t, err)
	states := make(map[string]bool)
	for _, first := range []int{0, 1} {
		compiled, err := of.Compile(1)
		require.NoError(t, err)
		c := New(Config{Rank: 1, Size: 2, Epoch: 1, Repair: 20e6, Stall: 250e6, FoldAtOnce: 4, PublishWindow: 1, Overlay: nowhere{}}, &discard{})
		c.Begin(NewPlan(&s.Header, compiled, of.Program(0), 0), Buffers{In: make([]byte, 24), Out: make([]byte, 24), Block: 24, Fold: sum})
		for _, v := range []int{first, 1 - first} {
			h := &wire.Header{Kind: wire.FrameSlot, Lane: wire.LaneOps, Epoch: 1, Seq: 1, Slot: ir.Value(v), Print: c.ops.lookup(1).print, Len: 12}
			dst, verdict := c.Body(h)
			require.Equal(t, wire.Accept, verdict)
			c.Arrived(h, dst)
		}
		states[string(deep.Append(nil, nil, c))] = true
		require.True(t, c.Work())
		states[string(deep.Append(nil, nil, c))] = true
	}
	require.Len(t, states, 4)
}
