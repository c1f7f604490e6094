package adapt

import (
	"testing"

	"github.com/stretchr/testify/require"
)

// The delay settles where about one operation in seven misses.
func TestNext(t *testing.T) {
	d := Next(int64(0), true, false)
	require.EqualValues(t, Start, d)
	for range 100 {
		d = Next(d, true, false)
	}
	require.EqualValues(t, Max, d)
	require.EqualValues(t, Max-Max/16, Next(d, true, true), "it was lost by chance")
	const need = 1_000_000
	missed := 0
	for range 10000 {
		miss := d < need
		if miss {
			missed++
		}
		d = Next(d, miss, false)
	}
	require.InDelta(t, 10000/7, missed, 250)
}
