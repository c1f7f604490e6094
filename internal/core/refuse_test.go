package core

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/schedgen/schedgen/runtime/wire"
	"github.com/schedgen/schedgen/schedule"
)

const second = Time(1e9)

// probe makes rank 1 ask c about an operation.
func (c *Core) probe(seq uint64) {
	c.Arrived(&wire.Header{Kind: wire.FrameProbe, Lane: wire.LaneControl, Epoch: 1, Seq: seq, From: 1, Print: 1}, nil)
}

// A rank fails by a refused call a second after others have asked for the operation, unless it has
// made another call.
func TestRefusalFails(t *testing.T) {
	refusing := func() *Core {
		c := New(Config{Rank: 0, Size: 2, Epoch: 1, Stall: second / 4, PublishWindow: 1, Overlay: nowhere{}}, new(spy))
		c.Refuse(1, "gather: "+strings.Repeat("x", 5000))
		return c
	}
	pass := func(c *Core, until Time) {
		for now := Time(1); now <= until; now += second / 10 {
			c.Tick(now)
		}
	}
	t.Run("nobody asks", func(t *testing.T) {
		c := refusing()
		pass(c, 100*second)
		require.NoError(t, c.Err())
		require.False(t, c.Waits())
	})
	t.Run("asked", func(t *testing.T) {
		c := refusing()
		c.probe(3) // from a rank that waits for no rank in two operations
		require.True(t, c.Waits())
		pass(c, second/2)
		require.NoError(t, c.Err())
		c.Refuse(1, "scatter: y") // another refusal gives no more time
		pass(c, second+second/5)
		require.ErrorIs(t, c.Err(), ErrMismatch)
		require.ErrorContains(t, c.Err(), "rank 0 has refused operation 1: scatter: y")
	})
	t.Run("long words", func(t *testing.T) {
		c := refusing()
		c.probe(1)
		pass(c, 2*second)
		require.ErrorIs(t, c.Err(), ErrMismatch)
		require.Less(t, len(c.Err().Error()), wire.MaxControl)
	})
	t.Run("asked before", func(t *testing.T) {
		c := New(Config{Rank: 0, Size: 2, Epoch: 1, PublishWindow: 1, Overlay: nowhere{}}, new(spy))
		c.probe(1)
		require.False(t, c.Waits())
		c.Refuse(1, "gather")
		require.True(t, c.Waits())
		pass(c, 2*second)
		require.ErrorIs(t, c.Err(), ErrMismatch)
	})
	t.Run("another call", func(t *testing.T) {
		c := refusing()
		require.NotContains(t, c.ops.describe(1, 0), "refused", "operation 1 has not begun")
		c.Begin(planOf(t, "bcast/linear", schedule.Params{Ranks: 2, Chunks: 1}, 0), InPlace(make([]byte, 8)))
		words := c.ops.describe(1, 0)
		require.Regexp(t, `^bcast of 8 bytes .* \(after a refused call: gather: x+\)$`, words)
		require.Len(t, words, mostWords, "a refusal is cut to what fits")
		c.End(1)
		require.Equal(t, words, c.ops.describe(1, 0))
		c.Begin(planOf(t, "bcast/linear", schedule.Params{Ranks: 2, Chunks: 1}, 0), InPlace(make([]byte, 8)))
		require.NotContains(t, c.ops.describe(2, 0), "refused", "another operation")
		require.Empty(t, c.ops.refusal.before(1, 2, 20), "no room")
	})
	t.Run("called again", func(t *testing.T) {
		c := refusing()
		c.probe(1)
		plan := planOf(t, "bcast/linear", schedule.Params{Ranks: 2, Chunks: 1}, 0)
		c.Begin(plan, InPlace(make([]byte, 8)))
		pass(c, 2*second)
		require.NoError(t, c.Err())
	})
}
