package ir

import (
	"math"
	"math/big"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

// exactBound returns ⌊k·n/f⌋ without a bound on the product.
func exactBound(n, f, k int) int {
	product := new(big.Int).Mul(big.NewInt(int64(n)), big.NewInt(int64(k)))
	return int(product.Div(product, big.NewInt(int64(f))).Int64())
}

func TestChunkBoundsAgainstBigNumbers(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		f := rapid.OneOf(rapid.IntRange(1, 9), rapid.IntRange(1, MaxChunks)).Draw(t, "chunks")
		n := rapid.OneOf(
			rapid.IntRange(0, 9),
			rapid.IntRange(0, f),
			rapid.IntRange(0, math.MaxInt),
			rapid.IntRange(math.MaxInt-f, math.MaxInt),
		).Draw(t, "bytes")
		k := rapid.OneOf(rapid.Just(0), rapid.Just(f-1), rapid.IntRange(0, f-1)).Draw(t, "chunk")
		lo, hi := ChunkBounds(n, f, k)
		require.Equal(t, exactBound(n, f, k), lo)
		require.Equal(t, exactBound(n, f, k+1), hi)
	})
}

// TestChunksPartitionTheMessage checks that the chunks partition the message into parts whose
// lengths differ by at most one byte.
func TestChunksPartitionTheMessage(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		f := rapid.IntRange(1, 500).Draw(t, "chunks")
		n := rapid.OneOf(rapid.IntRange(0, f), rapid.IntRange(0, math.MaxInt)).Draw(t, "bytes")
		end := 0
		for k := range f {
			lo, hi := ChunkBounds(n, f, k)
			require.Equal(t, end, lo)
			require.Contains(t, []int{0, min(1, n%f)}, hi-lo-n/f)
			end = hi
		}
		require.Equal(t, n, end)
	})
}

func TestChunkBoundsOfSmallMessages(t *testing.T) {
	sizes := func(n, f int) (s []int) {
		for k := range f {
			lo, hi := ChunkBounds(n, f, k)
			s = append(s, hi-lo)
		}
		return s
	}
	require.Equal(t, []int{0, 0, 0}, sizes(0, 3))
	require.Equal(t, []int{0, 0, 1}, sizes(1, 3))
	require.Equal(t, []int{2, 2, 3}, sizes(7, 3))
	require.Equal(t, []int{math.MaxInt}, sizes(math.MaxInt, 1))
}
