package fold

import (
	"bytes"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"
)

// compare compares the machine's kernel with the kernel in Go, on the same operands.
func compare(t *testing.T, op code, c class, layout int, offsets [3]int, a, b []byte) {
	t.Helper()
	fast, slow := kernels()[op][c], plainKernels[op][c]
	if layout == both {
		b = a
	}
	want := run(slow, apart, [3]int{}, a, b)
	for _, k := range []Kernel{fast, slow} {
		got := run(k, layout, offsets, a, b)
		if string(got) != string(want) {
			size := int(typeOf[c].Size())
			for i := 0; i < len(got); i += size {
				require.Equalf(t, want[i:i+size], got[i:i+size],
					"op %d of %v, layout %d, offsets %v, %d bytes: element %d of %x and %x", op, typeOf[c], layout, offsets, len(a), i/size, a[i:i+size], b[i:i+size])
			}
		}
	}
}

var plainKernels = plain()

// each calls f for every kernel.
func each(f func(op code, c class)) {
	for op := range codes {
		for c := range classes {
			if kernels()[op][c] != nil {
				f(op, c)
			}
		}
	}
}

// Every length that takes another path through the loops, at every address.
func TestKernelsAreAsInGo(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	each(func(op code, c class) {
		size := int(typeOf[c].Size())
		for n := 0; n <= 320; n += size {
			a, b := make([]byte, n), make([]byte, n)
			fill(r, a)
			fill(r, b)
			offsets := [3]int{r.IntN(64), r.IntN(64), r.IntN(64)}
			if r.IntN(3) == 0 {
				offsets = [3]int{}
			}
			for layout := range layouts {
				compare(t, op, c, layout, offsets, a, b)
			}
		}
	})
}

// All pairs of special numbers.
func TestSpecialNumbers(t *testing.T) {
	var a32, b32 []uint32
	for _, x := range special32 {
		for _, y := range special32 {
			a32, b32 = append(a32, x), append(b32, y)
		}
	}
	var a64, b64 []uint64
	for _, x := range special64 {
		for _, y := range special64 {
			a64, b64 = append(a64, x), append(b64, y)
		}
	}
	each(func(op code, c class) {
		compare(t, op, c, apart, [3]int{}, bytesOfValues(a32...), bytesOfValues(b32...))
		compare(t, op, c, left, [3]int{}, bytesOfValues(a64...), bytesOfValues(b64...))
	})
}

// Vectors that bypass the caches, and some whose address does not allow that.
func TestLongVectors(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 4))
	for _, k := range []struct {
		op code
		c  class
	}{{sum, float32s}, {prod, complex128s}, {xor, uint8s}, {greatest, float64s}} {
		a, b := make([]byte, 4099), make([]byte, 4083)
		fill(r, a)
		fill(r, b)
		a, b = bytes.Repeat(a, 1100)[:4<<20+176], bytes.Repeat(b, 1100)[:4<<20+176]
		size := int(typeOf[k.c].Size())
		for _, offset := range []int{0, size, 3} {
			compare(t, k.op, k.c, apart, [3]int{offset, r.IntN(64), r.IntN(64)}, a, b)
		}
		compare(t, k.op, k.c, left, [3]int{}, a, b)
		compare(t, k.op, k.c, right, [3]int{}, a, b)
	}
}

func FuzzKernels(f *testing.F) {
	f.Add(byte(sum), byte(float32s), byte(apart), byte(0), byte(0), byte(0), bytesOfValues(special32...))
	f.Add(byte(prod), byte(complex128s), byte(right), byte(1), byte(3), byte(9), bytesOfValues(special64...))
	f.Add(byte(least), byte(float64s), byte(left), byte(8), byte(5), byte(0), bytesOfValues(special64...))
	f.Fuzz(func(t *testing.T, op, c, layout, toDst, toA, toB byte, operands []byte) {
		o, cl := code(op)%codes, class(c)%classes
		if kernels()[o][cl] == nil {
			t.Skip()
		}
		n := len(operands) / 2
		n -= n % int(typeOf[cl].Size())
		compare(t, o, cl, int(layout)%layouts, [3]int{int(toDst % 64), int(toA % 64), int(toB % 64)}, operands[:n], operands[n:2*n])
	})
}

func TestWrongLengths(t *testing.T) {
	each(func(op code, c class) {
		size := int(typeOf[c].Size())
		for _, k := range []Kernel{kernels()[op][c], plainKernels[op][c]} {
			one, two, half := make([]byte, size), make([]byte, 2*size), make([]byte, size/2)
			require.Panics(t, func() { k(two, one, two) })
			require.Panics(t, func() { k(two, two, one) })
			require.Panics(t, func() { k(one, two, two) })
			if size > 1 {
				require.Panics(t, func() { k(half, half, half) })
			}
			require.NotPanics(t, func() { k(nil, nil, nil) })
		}
	})
}
