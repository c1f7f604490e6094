//go:build !race

package ballast

import (
	"runtime"
	"runtime/debug"
	"testing"

	"github.com/stretchr/testify/require"
)

// The ballast stays on the heap, so the next collection is due at more than twice its length.
func TestBallastStays(t *testing.T) {
	if debug.SetGCPercent(100) != 100 {
		t.Log("GOGC was set")
	}
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	require.GreaterOrEqual(t, m.NextGC, uint64(2*len(ballast)))
}
