package fold

import (
	"bytes"
	"encoding/binary"
	"math"
	"math/rand/v2"
	"reflect"
	"slices"
	"unsafe"
)

// typeOf is a type of each class.
var typeOf = [classes]reflect.Type{
	int8s: reflect.TypeFor[int8](), int16s: reflect.TypeFor[int16](), int32s: reflect.TypeFor[int32](), int64s: reflect.TypeFor[int64](),
	uint8s: reflect.TypeFor[uint8](), uint16s: reflect.TypeFor[uint16](), uint32s: reflect.TypeFor[uint32](), uint64s: reflect.TypeFor[uint64](),
	float32s: reflect.TypeFor[float32](), float64s: reflect.TypeFor[float64](),
	complex64s: reflect.TypeFor[complex64](), complex128s: reflect.TypeFor[complex128](), bools: reflect.TypeFor[bool](),
}

var allOps = []Op{Sum, Prod, Min, Max, And, Or, Xor, LAnd, LOr, LXor, MinLoc, MaxLoc}

// special64 and special32 are numbers that kernels could handle wrongly: zeros, infinities, quiet
// and signaling NaNs with payloads, and the limits of normal and denormal numbers and of integers.
var (
	special64 = []uint64{
		0, 1 << 63, 0x7ff0000000000000, 0xfff0000000000000,
		0x7ff8000000000000, 0xfff8000000000000, 0x7ff8000000000001, 0x7ff00000000007a2, 0xfff4000000000003, 0x7fffffffffffffff, 0xffffffffffffffff,
		1, 0x8000000000000001, 0x000fffffffffffff, 0x0010000000000000, 0x8010000000000000, 0x7fefffffffffffff, 0xffefffffffffffff,
		math.Float64bits(1), math.Float64bits(-1), math.Float64bits(0.1), math.Float64bits(-3), 0x80000000, 0xffffffff, 0x7fffffff, 0x100000000,
	}
	special32 = []uint32{
		0, 1 << 31, 0x7f800000, 0xff800000,
		0x7fc00000, 0xffc00000, 0x7fc00001, 0x7f8007a2, 0xffa00003, 0x7fffffff, 0xffffffff,
		1, 0x80000001, 0x007fffff, 0x00800000, 0x80800000, 0x7f7fffff, 0xff7fffff,
		math.Float32bits(1), math.Float32bits(-1), math.Float32bits(0.1), math.Float32bits(-3), 0x8000, 0xffff, 0x7fff, 0x10000, 0x80, 0xff, 0x7f, 0x100,
	}
)

// fill fills b with numbers of 8 or 4 bytes, half of which are special, or with small bytes.
func fill(r *rand.Rand, b []byte) {
	var words []byte
	how := r.IntN(4)
	for len(words) < len(b) {
		switch {
		case how == 0:
			words = append(words, byte(r.IntN(3)))
		case how == 1 && r.IntN(2) == 0:
			words = binary.NativeEndian.AppendUint32(words, special32[r.IntN(len(special32))])
		case how == 1:
			words = binary.NativeEndian.AppendUint32(words, r.Uint32())
		case r.IntN(2) == 0:
			words = binary.NativeEndian.AppendUint64(words, special64[r.IntN(len(special64))])
		default:
			words = binary.NativeEndian.AppendUint64(words, r.Uint64())
		}
	}
	copy(b, words)
}

// beyond is the byte around vectors.
var beyond = []byte{0xa5}

// at returns a copy of b that begins offset bytes after a multiple of 64, and the bytes around it,
// which have another value.
func at(offset int, b []byte) (moved, around []byte) {
	around = bytes.Repeat(beyond, len(b)+192)
	start := 64 + offset - int(uintptr(unsafe.Pointer(unsafe.SliceData(around)))%64)
	copy(around[start:], b)
	return around[start : start+len(b) : start+len(b)], around
}

// The memory of dst relative to the operands.
const (
	apart = iota
	left
	right
	both // then both operands are one
	layouts
)

// run folds copies of a and b, which begin offsets beyond some boundary, and returns the result. It
// panics if the kernel has changed bytes around the vectors, or operands that are separate from
// dst.
func run(k Kernel, layout int, offsets [3]int, a, b []byte) []byte {
	x, aroundX := at(offsets[1], a)
	y, aroundY := at(offsets[2], b)
	dst, aroundDst := at(offsets[0], make([]byte, len(a)))
	switch layout {
	case left:
		dst, aroundDst = x, aroundX
	case right:
		dst, aroundDst = y, aroundY
	case both:
		y, aroundY = x, aroundX
		dst, aroundDst = x, aroundX
	}
	k(dst, x, y)
	got := slices.Clone(dst)
	for _, v := range []struct{ vector, around, want []byte }{{x, aroundX, a}, {y, aroundY, b}, {dst, aroundDst, got}} {
		if same(v.vector, dst) {
			v.want = got
		}
		if !bytes.Equal(v.vector, v.want) {
			panic("an operand has been changed")
		}
		if n := len(v.vector); bytes.Count(v.around, beyond) != len(v.around)-n+bytes.Count(v.vector, beyond) {
			panic("a byte beyond a vector has been changed")
		}
	}
	return got
}

func bytesOfValues[T any](values ...T) []byte { return slices.Clone(bytesOf(values)) }
