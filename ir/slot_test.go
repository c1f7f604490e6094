package ir

import (
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

func TestSlotSpelling(t *testing.T) {
	for slot, want := range map[Slot]string{
		None:             "none",
		Enter:            "enter",
		Chunk(0):         "c0",
		Chunk(MaxIndex):  "c536870911",
		Signal(0):        "s0",
		Signal(17):       "s17",
		Signal(MaxIndex): "s536870911",
		Value(2):         "v2",
		Input(MaxIndex):  "x536870911",
	} {
		require.Equal(t, want, slot.String())
	}
}

func TestSlotKindAndIndex(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		k := rapid.IntRange(0, MaxIndex).Draw(t, "index")
		require.Equal(t, KindChunk, Chunk(k).Kind())
		require.Equal(t, KindSignal, Signal(k).Kind())
		require.Equal(t, k, Chunk(k).Index())
		require.Equal(t, k, Signal(k).Index())
		require.Equal(t, KindValue, Value(k).Kind())
		require.Equal(t, KindInput, Input(k).Kind())
		require.Equal(t, k, Value(k).Index())
		require.Equal(t, k, Input(k).Index())
		require.NotEqual(t, Chunk(k), Signal(k))
		require.NotEqual(t, Value(k), Input(k))
	})
	require.Equal(t, KindNone, None.Kind())
	require.Equal(t, KindEnter, Enter.Kind())
	require.Zero(t, Enter.Index())
}

func TestParseSlot(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		k := rapid.IntRange(0, MaxIndex).Draw(t, "index")
		for _, want := range []Slot{Enter, Chunk(k), Signal(k), Value(k), Input(k)} {
			got, ok := ParseSlot([]byte(want.String()))
			require.True(t, ok)
			require.Equal(t, want, got)
		}
	})
	for _, bad := range []string{
		"", "c", "s", "none", "Enter", "c-1", "c01", "s00", "c536870912", "v", "x01", "s99999999999999999999", "d0", "c0 ", "c٣",
	} {
		_, ok := ParseSlot([]byte(bad))
		require.False(t, ok, "%q", bad)
	}
}

func TestOpSpelling(t *testing.T) {
	require.Equal(t, "put", Put.String())
	require.Equal(t, "mcast", Mcast.String())
	require.Equal(t, "op?", Op(0).String())
}
