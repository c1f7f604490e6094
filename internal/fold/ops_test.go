package fold_test

import (
	"math"
	"reflect"
	"slices"
	"testing"
	"unsafe"

	"github.com/stretchr/testify/require"

	"github.com/schedgen/schedgen/internal/fold"
)

func bytesOf[T any](s []T) []byte {
	var element T
	return unsafe.Slice((*byte)(unsafe.Pointer(unsafe.SliceData(s))), len(s)*int(unsafe.Sizeof(element)))
}

// folded returns a·b, element by element, with dst separate from the operands and as one of them.
func folded[T any](t *testing.T, op fold.Op, a, b []T) []T {
	t.Helper()
	k, size, err := fold.For[T](op)
	require.NoError(t, err)
	var element T
	require.Equal(t, int(unsafe.Sizeof(element)), size)
	dst := make([]T, len(a))
	k(bytesOf(dst), bytesOf(a), bytesOf(b))
	x, y := slices.Clone(a), slices.Clone(b)
	k(bytesOf(x), bytesOf(x), bytesOf(b))
	k(bytesOf(y), bytesOf(a), bytesOf(y))
	require.Equal(t, bytesOf(dst), bytesOf(x))
	require.Equal(t, bytesOf(dst), bytesOf(y))
	return dst
}

type (
	celsius float64
	flags   uint8
	vote    bool
	handle  uintptr
)

// The meaning of each operation.
func TestOps(t *testing.T) {
	require.Equal(t, []int{11, -7}, folded(t, fold.Sum, []int{1, -9}, []int{10, 2}))
	require.Equal(t, []int8{-128}, folded(t, fold.Sum, []int8{127}, []int8{1}))
	require.Equal(t, []uint16{1}, folded(t, fold.Sum, []uint16{65535}, []uint16{2}))
	require.Equal(t, []celsius{20.5}, folded(t, fold.Sum, []celsius{20}, []celsius{0.5}))
	require.Equal(t, []complex64{4 + 6i}, folded(t, fold.Sum, []complex64{1 + 2i}, []complex64{3 + 4i}))
	require.Equal(t, []complex128{-5 + 10i}, folded(t, fold.Prod, []complex128{1 + 2i}, []complex128{3 + 4i}))
	require.Equal(t, []complex64{-5 + 10i}, folded(t, fold.Prod, []complex64{1 + 2i}, []complex64{3 + 4i}))
	require.Equal(t, []float32{-6}, folded(t, fold.Prod, []float32{2}, []float32{-3}))
	require.Equal(t, []int64{-1 << 62}, folded(t, fold.Prod, []int64{1 << 61}, []int64{-2}))
	require.Equal(t, []int32{-3, -3}, folded(t, fold.Min, []int32{-3, 5}, []int32{5, -3}))
	require.Equal(t, []uint32{5, math.MaxUint32}, folded(t, fold.Max, []uint32{5, math.MaxUint32}, []uint32{3, 1}))
	require.Equal(t, []handle{5}, folded(t, fold.Max, []handle{5}, []handle{3}))
	require.Equal(t, []flags{0b100}, folded(t, fold.And, []flags{0b110}, []flags{0b101}))
	require.Equal(t, []int64{-1}, folded(t, fold.Or, []int64{-2}, []int64{1}))
	require.Equal(t, []uint{0b011}, folded(t, fold.Xor, []uint{0b110}, []uint{0b101}))

	no, yes := []vote{false, false, true, true}, []vote{false, true, false, true}
	for op, want := range map[fold.Op][]vote{
		fold.And: {false, false, false, true}, fold.LAnd: {false, false, false, true},
		fold.Or: {false, true, true, true}, fold.LOr: {false, true, true, true},
		fold.Xor: {false, true, true, false}, fold.LXor: {false, true, true, false},
	} {
		require.Equal(t, want, folded(t, op, no, yes), op)
	}
	require.Equal(t, []int32{0, 0, 0, 1}, folded(t, fold.LAnd, []int32{0, 0, 4, 4}, []int32{0, 2, 0, 2}))
	require.Equal(t, []uint64{0, 1, 1, 1}, folded(t, fold.LOr, []uint64{0, 0, 4, 4}, []uint64{0, 2, 0, 2}))
	require.Equal(t, []int16{0, 1, 1, 0}, folded(t, fold.LXor, []int16{0, 0, 4, 4}, []int16{0, 2, 0, 2}))
}

// The bits of NaNs and zeros.
func TestFloats(t *testing.T) {
	zero, minus, inf := 0.0, math.Copysign(0, -1), math.Inf(1)
	bits := func(op fold.Op, x, y float64) uint64 {
		return math.Float64bits(folded(t, op, []float64{x}, []float64{y})[0])
	}
	nan := math.Float64frombits
	const (
		quiet     uint64 = 0x7ff8000000000000
		low       uint64 = quiet | 1
		high      uint64 = quiet | 2
		signaling uint64 = 0x7ff0000000000003
		negative  uint64 = 1<<63 | quiet | 9
	)

	require.Equal(t, uint64(1<<63), bits(fold.Min, zero, minus))
	require.Equal(t, uint64(1<<63), bits(fold.Min, minus, zero))
	require.Equal(t, uint64(0), bits(fold.Max, zero, minus))
	require.Equal(t, uint64(0), bits(fold.Max, minus, zero))
	require.Equal(t, uint64(1<<63), bits(fold.Max, minus, minus))
	for _, op := range []fold.Op{fold.Min, fold.Max} {
		for _, number := range []float64{zero, -1, inf, -inf} {
			for _, n := range []uint64{quiet, low, signaling, negative} {
				require.Equal(t, n, bits(op, nan(n), number))
				require.Equal(t, n, bits(op, number, nan(n)))
			}
		}
		require.Equal(t, high, bits(op, nan(low), nan(high)))
		require.Equal(t, high, bits(op, nan(high), nan(low)))
		require.Equal(t, signaling, bits(op, nan(negative), nan(signaling)))
	}
	for _, op := range []fold.Op{fold.Sum, fold.Prod} {
		require.Equal(t, low, bits(op, nan(low), nan(high)), "of two the left one")
		require.Equal(t, high, bits(op, nan(high), nan(low)))
		require.Equal(t, signaling|quiet, bits(op, nan(signaling), 1))
		require.Equal(t, signaling|quiet, bits(op, 1, nan(signaling)))
	}
	require.Equal(t, 1<<63|quiet, bits(fold.Sum, inf, -inf))
	require.Equal(t, 1<<63|quiet, bits(fold.Prod, inf, 0))
	require.Equal(t, uint64(3), bits(fold.Sum, nan(1), nan(2)), "denormal numbers are not flushed")
}

// If a product were added without being rounded first, the real part would not be zero.
func TestComplexProductsAreRounded(t *testing.T) {
	x := 1 + math.Ldexp(1, -30)
	require.Equal(t, []complex128{complex(0, 2*(x*x))}, folded(t, fold.Prod, []complex128{complex(x, x)}, []complex128{complex(x, x)}))
	y := float32(1 + math.Ldexp(1, -15))
	require.Equal(t, []complex64{complex(0, 2*(y*y))}, folded(t, fold.Prod, []complex64{complex(y, y)}, []complex64{complex(y, y)}))
}

func TestLocs(t *testing.T) {
	type loc = fold.Loc[float32]
	nan, minus := float32(math.NaN()), float32(math.Copysign(0, -1))
	for _, c := range []struct{ x, y, least, greatest loc }{
		{loc{1, 5}, loc{2, 3}, loc{1, 5}, loc{2, 3}},
		{loc{2, 5}, loc{2, 3}, loc{2, 3}, loc{2, 3}},
		{loc{minus, 5}, loc{0, 3}, loc{minus, 5}, loc{0, 3}},
	} {
		require.Equal(t, []loc{c.least, c.least}, folded(t, fold.MinLoc, []loc{c.x, c.y}, []loc{c.y, c.x}))
		require.Equal(t, []loc{c.greatest, c.greatest}, folded(t, fold.MaxLoc, []loc{c.x, c.y}, []loc{c.y, c.x}))
	}
	for _, op := range []fold.Op{fold.MinLoc, fold.MaxLoc} {
		for _, d := range folded(t, op, []loc{{nan, 5}, {1, 3}}, []loc{{1, 3}, {nan, 5}}) {
			require.True(t, d.Value != d.Value)
			require.EqualValues(t, 5, d.Index)
		}
		require.EqualValues(t, -2, folded(t, op, []loc{{nan, 5}}, []loc{{nan, -2}})[0].Index)
	}
	type found struct {
		Value celsius
		Index int64
	}
	require.Equal(t, []found{{-3, 2}}, folded(t, fold.MinLoc, []found{{1, 1}}, []found{{-3, 2}}))
	require.Equal(t, []fold.Loc[uint64]{{math.MaxUint64, 2}}, folded(t, fold.MaxLoc, []fold.Loc[uint64]{{1, 1}}, []fold.Loc[uint64]{{math.MaxUint64, 2}}))
}

// TestPaddingOfLocs checks that the padding of the result is zero, whatever the padding of the
// operands is.
func TestPaddingOfLocs(t *testing.T) {
	type loc = fold.Loc[int8]
	locs := []loc{{7, 1}, {9, 2}, {8, 3}}
	dirty := func() []loc {
		d := make([]loc, len(locs))
		for i := range bytesOf(d) {
			bytesOf(d)[i] = 0x5a
		}
		for i, l := range locs {
			d[i].Value, d[i].Index = l.Value, l.Index
		}
		return d
	}
	clean := make([]loc, len(locs))
	for i, l := range locs {
		clean[i].Value, clean[i].Index = l.Value, l.Index
	}
	for _, op := range []fold.Op{fold.MinLoc, fold.MaxLoc} {
		require.Equal(t, bytesOf(clean), bytesOf(folded(t, op, dirty(), dirty())))
	}
}

func TestWhatDoesNotFit(t *testing.T) {
	median := fold.Func("median", false, func(dst, src []float64) {})
	for _, c := range []struct {
		op   fold.Op
		typ  reflect.Type
		want string
	}{
		{fold.Sum, reflect.TypeFor[bool](), "sum of bool: bool has no sum; use or"},
		{fold.Min, reflect.TypeFor[vote](), "min of fold_test.vote: bool has no min; use and"},
		{fold.And, reflect.TypeFor[celsius](), "and of fold_test.celsius: it is for integers and bool, not for float64"},
		{fold.LXor, reflect.TypeFor[float32](), "lxor of float32: it is for integers and bool, not for float32"},
		{fold.Max, reflect.TypeFor[complex64](), "max of complex64: complex64 has no order"},
		{fold.Sum, reflect.TypeFor[string](), "sum of string: it is for numbers"},
		{fold.Sum, reflect.TypeFor[[3]int](), "sum of [3]int: it is for numbers; use Func for an array"},
		{fold.Or, reflect.TypeFor[struct{ X int }](), "or of struct { X int }: it is for integers and bool; use Func for a struct"},
		{fold.MinLoc, reflect.TypeFor[float64](), "minloc of float64: it is for Loc, a value and its index"},
		{fold.MaxLoc, reflect.TypeFor[struct {
			Value string
			Index int64
		}](), "maxloc of struct { Value string; Index int64 }: it is for Loc, a value and its index"},
		{median, reflect.TypeFor[float32](), "median of float32: it is a function on float64"},
		{median, reflect.TypeFor[celsius](), "median of fold_test.celsius: it is a function on float64"},
		{fold.Op{}, reflect.TypeFor[int](), "no operation is given"},
		{fold.Sum, nil, "the type of the elements of sum is nil"},
		{fold.Func("", true, func(dst, src []int) {}), reflect.TypeFor[int](), "a function on int has no name"},
		{fold.Func("sum", true, func(dst, src []int) {}), reflect.TypeFor[int](), "a function on int is named sum, like an operation of package fold"},
		{fold.Func[int]("f", true, nil), reflect.TypeFor[int](), "f of int: the function is nil"},
		{fold.Func("f", true, func(dst, src [][0]int) {}), reflect.TypeFor[[0]int](), "f of [0]int: such elements have no bytes"},
		{fold.Func("f", true, func(dst, src []*int) {}), reflect.TypeFor[*int](), "f of *int: such elements have pointers, which mean nothing at other ranks"},
		{fold.Func("f", true, func(dst, src []struct{ s [1]string }) {}), reflect.TypeFor[struct{ s [1]string }](),
			"f of struct { s [1]string }: such elements have pointers, which mean nothing at other ranks"},
	} {
		k, _, err := fold.ForType(c.op, c.typ)
		require.EqualError(t, err, c.want)
		require.Nil(t, k)
	}
}

func TestNames(t *testing.T) {
	require.Equal(t, "land", fold.LAnd.Name())
	require.Equal(t, "land", fold.LAnd.String())
	require.True(t, fold.MinLoc.Commutative())
	f := fold.Func("f", false, func(dst, src []int) {})
	require.Equal(t, "f", f.Name())
	require.False(t, f.Commutative())
	require.NotEqual(t, fold.Sum, f)
}
