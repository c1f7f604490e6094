package fold

import (
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"
)

// A pixel has an alignment of one byte, and its size is no power of two.
type pixel struct{ r, g, b uint8 }

// A matrix is multiplied, which is not commutative.
type matrix [4]int32

func times(dst, src []matrix) {
	for i, b := range src {
		a := dst[i]
		dst[i] = matrix{a[0]*b[0] + a[1]*b[2], a[0]*b[1] + a[1]*b[3], a[2]*b[0] + a[3]*b[2], a[2]*b[1] + a[3]*b[3]}
	}
}

func take(dst, src []pixel) {
	for i, b := range src {
		dst[i] = pixel{dst[i].r, b.g, dst[i].b ^ b.b}
	}
}

// big has elements that are longer than one copy.
func big(dst, src [][5000]byte) {
	for i := range src {
		dst[i][0], dst[i][4999] = dst[i][0]-src[i][0], src[i][1]
	}
}

func TestFuncAnywhere(t *testing.T) {
	anywhere(t, times)
	anywhere(t, take)
	anywhere(t, big)
}

// anywhere folds by fn with vectors at any address and in any layout.
func anywhere[T any](t *testing.T, fn func(dst, src []T)) {
	k, size, err := For[T](Func("f", false, fn))
	require.NoError(t, err)
	r := rand.New(rand.NewPCG(5, 6))
	for n := range 12 {
		if n > 8 && size < 100 {
			n *= 100
		}
		a, b := make([]T, n), make([]T, n)
		fill(r, bytesOf(a))
		fill(r, bytesOf(b))
		for layout := range layouts {
			for range 8 {
				x, y := bytesOfValues(a...), bytesOfValues(b...)
				if layout == both {
					y = x
				}
				want := bytesOfValues(view[T](x)...)
				fn(view[T](want), view[T](y))
				offsets := [3]int{r.IntN(64), r.IntN(64), r.IntN(64)}
				require.Equal(t, want, run(k, layout, offsets, x, y), "layout %d, offsets %v, %d elements", layout, offsets, n)
			}
		}
	}
	require.Panics(t, func() { k(make([]byte, size), make([]byte, 2*size), make([]byte, size)) })
}
