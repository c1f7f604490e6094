package fold

import (
	"math"
	"reflect"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	_ "github.com/schedgen/schedgen/internal/test/heavy"
)

// exact reports whether op on such elements is associative and commutative bit by bit.
func exact(op code, c class) bool {
	rounded := c == float32s || c == float64s || c == complex64s || c == complex128s
	return !rounded || op != sum && op != prod
}

// vectors draws vectors of equal length, of elements of size bytes, with special numbers in them.
func vectors(t *rapid.T, size, count int) [][]byte {
	n := size * rapid.IntRange(1, 40).Draw(t, "elements")
	word := rapid.OneOf(rapid.Uint64(), rapid.SampledFrom(special64), rapid.Custom(func(t *rapid.T) uint64 {
		half := rapid.SampledFrom(special32)
		return uint64(half.Draw(t, "high"))<<32 | uint64(half.Draw(t, "low"))
	}))
	all := make([][]byte, count)
	for i := range all {
		all[i] = bytesOf(rapid.SliceOfN(word, (n+7)/8, (n+7)/8).Draw(t, "vector"))[:n]
	}
	return all
}

func folding(k Kernel) func(a, b []byte) []byte {
	return func(a, b []byte) []byte { return run(k, apart, [3]int{}, a, b) }
}

// laws checks that the result depends neither on brackets nor on the order.
func laws(t *rapid.T, k Kernel, a, b, c []byte) {
	f := folding(k)
	require.Equal(t, f(f(a, b), c), f(a, f(b, c)), "associative")
	require.Equal(t, f(a, b), f(b, a), "commutative")
}

func TestLaws(t *testing.T) {
	each(func(op code, c class) {
		if !exact(op, c) {
			return
		}
		rapid.Check(t, func(t *rapid.T) {
			v := vectors(t, int(typeOf[c].Size()), 3)
			laws(t, kernels()[op][c], v[0], v[1], v[2])
			laws(t, plainKernels[op][c], v[0], v[1], v[2])
		})
	})
}

func TestLawsOfLocs(t *testing.T) {
	lawsOfLoc[int8](t)
	lawsOfLoc[uint16](t)
	lawsOfLoc[int32](t)
	lawsOfLoc[uint64](t)
	lawsOfLoc[float32](t)
	lawsOfLoc[float64](t)
}

func lawsOfLoc[T Number](t *testing.T) {
	for _, op := range []Op{MinLoc, MaxLoc} {
		k, size, err := For[Loc[T]](op)
		require.NoError(t, err)
		rapid.Check(t, func(t *rapid.T) {
			v := vectors(t, size, 3)
			for _, x := range v {
				for i := range view[Loc[T]](x) {
					// Ties are frequent.
					view[Loc[T]](x)[i].Index = rapid.Int64Range(-1, 1).Draw(t, "index")
				}
			}
			laws(t, k, v[0], v[1], v[2])
		})
	}
}

// Min and Max agree with Go's min and max as far as these are defined, and return one of their
// operands.
func TestBoundsAreAsInGo(t *testing.T) {
	for _, x := range special64 {
		for _, y := range special64 {
			a, b := math.Float64frombits(x), math.Float64frombits(y)
			bound(t, min(a, b), folding(kernels()[least][float64s])(bytesOfValues(a), bytesOfValues(b)), x, y)
			bound(t, max(a, b), folding(kernels()[greatest][float64s])(bytesOfValues(a), bytesOfValues(b)), x, y)
		}
	}
}

func bound(t *testing.T, want float64, got []byte, operands ...uint64) {
	bits := view[uint64](got)[0]
	require.Contains(t, operands, bits)
	if number := math.Float64frombits(bits); want == want {
		require.Equal(t, math.Float64bits(want), bits)
	} else {
		require.True(t, number != number)
	}
}

// The results agree with Go's operators, on each basic type.
func TestArithmeticIsAsInGo(t *testing.T) {
	arithmetic[int8](t)
	arithmetic[int16](t)
	arithmetic[int32](t)
	arithmetic[int64](t)
	arithmetic[int](t)
	arithmetic[uint8](t)
	arithmetic[uint16](t)
	arithmetic[uint32](t)
	arithmetic[uint64](t)
	arithmetic[uint](t)
	arithmetic[uintptr](t)
	arithmetic[float32](t)
	arithmetic[float64](t)
	arithmetic[complex64](t)
	arithmetic[complex128](t)
}

func arithmetic[T Number | complex64 | complex128](t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		v := vectors(t, sizeOf[T](), 2)
		for op, f := range map[Op]func(x, y T) T{
			Sum:  func(x, y T) T { return x + y },
			Prod: func(x, y T) T { return x * y },
		} {
			if op == Prod && reflect.TypeFor[T]().Kind() >= reflect.Complex64 && reflect.TypeFor[T]().Kind() <= reflect.Complex128 {
				continue // Go may round differently
			}
			k, _, err := For[T](op)
			require.NoError(t, err)
			got := view[T](folding(k)(v[0], v[1]))
			for i, x := range view[T](v[0]) {
				want := f(x, view[T](v[1])[i])
				if want == want {
					require.Equal(t, bytesOfValues(want), bytesOfValues(got[i]))
				} else {
					require.True(t, got[i] != got[i])
				}
			}
		}
	})
}
