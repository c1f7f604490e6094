package loss

import (
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/schedgen/schedgen/ir"
)

// Each chunk consists of whole datagrams and the rest, and is complete when all of them have
// arrived.
func TestFragments(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.IntRange(0, 300).Draw(t, "bytes")
		chunks := rapid.IntRange(1, 12).Draw(t, "chunks")
		size := rapid.IntRange(1, 40).Draw(t, "datagram")
		var f Fragments
		require.False(t, f.LaidOut())
		f.Layout(size, chunks, func(k int) int {
			lo, hi := ir.ChunkBounds(n, chunks, k)
			return hi - lo
		})
		require.True(t, f.LaidOut())
		all := 0
		for k := range chunks {
			lo, hi := ir.ChunkBounds(n, chunks, k)
			pieces := int(f.first[k+1] - f.first[k])
			require.Equal(t, max(1, (hi-lo+size-1)/size), pieces)
			for i := range pieces {
				number := f.number(k, i*size)
				require.Equal(t, all, number)
				all++
				require.Equal(t, k, f.chunkOf(number))
				length := min(size, hi-lo-i*size)
				from, to := f.Span(k, number, number+1, hi-lo)
				require.Equal(t, i*size, from)
				require.Equal(t, length, to-from)
				require.True(t, f.Fits(hi-lo, i*size, length))
				require.Equal(t, size == 1 && i+1 < pieces, f.Fits(hi-lo, i*size+1, length))
				require.False(t, f.Fits(hi-lo, i*size, length+1))
				require.Equal(t, i == pieces-1, f.add(k, i*size), "the last one completes the chunk")
				require.False(t, f.add(k, i*size), "again")
				require.True(t, f.has(number))
			}
		}
		require.Equal(t, all, f.count())
		f.reset()
		require.False(t, f.LaidOut())
	})
}
