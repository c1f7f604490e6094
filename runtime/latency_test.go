package runtime

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/schedgen/schedgen/internal/core"
)

// Every length is in the first class that it does not exceed, and every time in the first bucket.
func TestLatencyClasses(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.IntRange(0, 1<<40).Draw(t, "bytes")
		class := lengthClass(n)
		require.True(t, lengthBound(class) < 0 || n <= lengthBound(class), "%d bytes in class %d", n, class)
		require.True(t, class == 0 || n > lengthBound(class-1), "%d bytes in class %d", n, class)

		took := core.Time(rapid.Int64Range(0, 1<<40).Draw(t, "time"))
		i := latencyBucket(took)
		require.True(t, LatencyBound(i) < 0 || time.Duration(took) <= LatencyBound(i), "%d ns in bucket %d", took, i)
		require.True(t, i == 0 || time.Duration(took) > LatencyBound(i-1), "%d ns in bucket %d", took, i)
	})
	for n, want := range map[int]int{0: 0, 1: 16, 16: 16, 17: 256, 1 << 24: 1 << 24, 1<<24 + 1: -1} {
		require.Equal(t, want, lengthBound(lengthClass(n)), "%d bytes", n)
	}
}
