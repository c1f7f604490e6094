package adapt

import (
	"testing"

	"github.com/stretchr/testify/require"
)

// An adaptive delay grows to its limit. It settles where about one operation in seven misses if the
// root never learns in time that the drawn rank has entered, and one in 27 if it always waits for that.
// It vanishes if that rank enters before the root, whatever is lost.
func TestNext(t *testing.T) {
	d := Next(int64(0), true, false, false)
	require.EqualValues(t, Start, d)
	for range 100 {
		d = Next(d, true, false, false)
	}
	require.EqualValues(t, Max, d)
	for waits, want := range map[bool]int{false: 10000 / 7, true: 10000 / 27} {
		need, missed := int64(1e6), 0
		for range 10000 {
			miss := d < need
			if miss {
				missed++
			}
			met := waits && !miss
			d = Next(d, miss, met, met)
		}
		require.InDelta(t, want, missed, 250)
	}
	for range 1000 {
		d = Next(d, true, true, false)
	}
	require.Less(t, d, int64(100))
}
