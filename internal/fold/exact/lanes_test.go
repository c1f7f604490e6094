package exact

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/schedgen/schedgen/internal/test/heavy"
)

// TestLanes checks that lanes and bins make the same Sum, whichever blocks need bins.
func TestLanes(t *testing.T) {
	r := rand.New(rand.NewPCG(19, 20))
	outliers := []float64{math.Inf(1), math.NaN(), 0x1p-1074, -0x1p-600, math.MaxFloat64, 1e300, 0, math.Copysign(0, -1)}
	for range heavy.Or(300, 5000) {
		n := fewestInLanes + r.IntN(5*laneBlock)
		if r.IntN(2) == 0 {
			n = fewestInLanes + r.IntN(300)
		}
		xs, ys := vector(r, n), vector(r, n)
		for block := 0; block < n; block += laneBlock {
			if r.IntN(3) == 0 {
				at := block + r.IntN(min(laneBlock, n-block))
				xs[at] = outliers[r.IntN(len(outliers))]
				ys[at] = outliers[r.IntN(len(outliers))]
			}
		}
		requireSame(t, xs, ys)
		requireSame(t, float32s(xs), float32s(ys))
	}
	for _, x := range []float64{0, math.Copysign(0, -1), 0x1p-537, 0x1p-500, 0x1p511, 0x1p512, math.MaxFloat64} {
		xs := make([]float64, 1000)
		for i := range xs {
			xs[i] = x
		}
		requireSame(t, xs, xs)
		requireSame(t, xs, normal(len(xs)))
	}
}

func requireSame[T Float](t *testing.T, xs, ys []T) {
	var got, want Sum
	Add(&got, xs)
	addByBins(&want, xs)
	require.Equal(t, want, got)
	got, want = Sum{}, Sum{}
	AddProducts(&got, xs, ys)
	addProductsByBins(&want, xs, ys)
	require.Equal(t, want, got)
}

// TestLanesLoseNothing checks that numbers spread over 20 decades need no bins, nor do products of
// factors spread over 10 decades, nor vectors with many zeros.
func TestLanesLoseNothing(t *testing.T) {
	if !fast {
		t.Skip("no lanes here")
	}
	var s Sum
	sparse := normal(laneBlock)
	for i := range sparse {
		if i%10 != 0 {
			sparse[i] = 0
		}
	}
	for i, xs := range [][]float64{normal(laneBlock), spread(laneBlock, 10), sparse} {
		require.True(t, addBlock(&s, xs), i)
		require.True(t, addBlock(&s, float32s(xs)), i)
		require.True(t, addProductBlock(&s, xs, xs), i)
		require.True(t, addProductBlock(&s, float32s(xs), float32s(xs)), i)
	}
	require.True(t, addBlock(&s, spread(laneBlock, 20)))
	require.False(t, addBlock(&s, anyBits(laneBlock)))
	require.False(t, addProductBlock(&s, anyBits(laneBlock), anyBits(laneBlock)))
}
