package core

import (
	"testing"

	"github.com/stretchr/testify/require"
)

// The chunks of a block of elements follow each other without a gap, and each is cut at an element.
func TestChunksAreCutAtElements(t *testing.T) {
	for _, element := range []int{1, 3, 8} {
		for elements := range 9 {
			m := memory{n: elements * element, per: 4, element: element}
			end := m.n // of the block before
			for part := range m.per {
				lo, hi := m.bounds(place{areaIn, 1, part})
				require.Equal(t, end, lo)
				require.Zero(t, (hi-lo)%element)
				end = hi
			}
			require.Equal(t, 2*m.n, end)
		}
	}
}
