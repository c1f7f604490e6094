package core

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

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
			c.ops.history.note(o)
			o.free()
		}
		require.Contains(t, c.ops.words(299, 0), fmt.Sprintf("bcast of %d bytes from root 1", n))
		require.Contains(t, c.ops.words(200, 0), "barrier by barrier/dissemination")
		first := bcast.print(n) // all that another rank knows
		require.Contains(t, c.ops.words(1, c.ops.own(1, first)), fmt.Sprintf("bcast of %d bytes from root 1", n), "by what another rank says")
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
		require.Contains(t, c.ops.words(seq, 0), want, "operation %d", seq)
	}
	require.NotContains(t, c.ops.words(5001, 0), "bcast", "that has not begun")
}

// The fingerprints of both ranks show the first operation that differs.
func TestParted(t *testing.T) {
	c := New(Config{Rank: 0, Size: 2, Epoch: 1, PublishWindow: 1, Overlay: nowhere{}}, new(shelved))
	plan := planOf(t, "bcast/linear", schedule.Params{Ranks: 2, Chunks: 1}, 0)
	theirs := []uint32{0}
	for seq := uint64(1); seq <= 20; seq++ {
		c.Begin(plan, InPlace(make([]byte, 8)))
		require.True(t, c.Ready(seq))
		c.End(seq)
		n := 8
		if seq >= 7 {
			n = 9
		}
		theirs = append(theirs, following(theirs[seq-1], plan.print(n)))
	}
	for seq := uint64(1); seq <= 20; seq++ {
		var before []uint32
		for s := seq - 1; s > 0; s-- {
			before = append(before, theirs[s])
		}
		first, at := c.ops.parted(seq, before)
		require.Equal(t, min(seq, 7), min(first, 7))
		if seq > 7 {
			require.Equal(t, uint64(7), first)
			require.Equal(t, theirs[7], at)
			require.Equal(t, plan.print(9), c.ops.own(first, at))
		}
	}
	for _, body := range [][]byte{nil, {1}, {1, 0}, {0, 0, 1}, {255, 255, 1, 2, 3}} {
		_, _, ok := clashIn(body)
		require.False(t, ok, "%v", body)
	}
	words, prints, ok := clashIn(clashBody("words", []uint32{1, 2}))
	require.True(t, ok)
	require.Equal(t, "words", words)
	require.Equal(t, []uint32{1, 2}, prints)
	require.LessOrEqual(t, len(clashBody(string(make([]byte, 5000)), make([]uint32, len(history{}.prints)))), wire.MaxControl)
}
