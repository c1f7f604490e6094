package mismatch

import (
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

func TestMessageIsReadAsWritten(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		words := rapid.String().Draw(t, "words")
		prints := rapid.SliceOf(rapid.Uint32()).Draw(t, "fingerprints")
		limit := rapid.IntRange(0, 40).Draw(t, "limit")
		got, before, ok := Decode(Encode(words, prints, limit))
		require.True(t, ok)
		require.Equal(t, words[:min(len(words), limit)], got)
		require.ElementsMatch(t, prints, before)
	})
}

func TestWrongMessages(t *testing.T) {
	for _, body := range [][]byte{nil, {1}, {1, 0}, {0, 0, 1}, {255, 255, 1, 2, 3}} {
		_, _, ok := Decode(body)
		require.False(t, ok, "%v", body)
	}
	rapid.Check(t, func(t *rapid.T) {
		Decode(rapid.SliceOf(rapid.Byte()).Draw(t, "body"))
	})
}

// The lower rank comes first, so that both ranks write the same.
func TestSides(t *testing.T) {
	const want = "operation 7: rank 1 called a barrier, rank 2 called a bcast"
	require.Equal(t, want, Sides("operation 7", "called", 1, "a barrier", 2, "a bcast"))
	require.Equal(t, want, Sides("operation 7", "called", 2, "a bcast", 1, "a barrier"))
}
