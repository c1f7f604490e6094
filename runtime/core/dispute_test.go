package core

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/schedgen/schedgen/runtime/core/mismatch"
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
