package exact

import (
	"math"
	"math/bits"
	"unsafe"
)

// Float64 returns the sum, rounded to the nearest float64. Of two that are equally near, it returns
// the even one.
func (s *Sum) Float64() float64 { return s.rounded(53, smallest) }

// Float32 returns the sum, rounded to the nearest float32. It is rounded once, not to a float64
// first.
func (s *Sum) Float32() float32 { return float32(s.rounded(24, -149)) }

// rounded returns the sum rounded to precision bits. No bit has an exponent below least.
func (s *Sum) rounded(precision, least int) float64 {
	switch {
	case s.seen&anySpecial == 0:
	case s.seen&anySpecial == plusInf:
		return math.Inf(1)
	case s.seen&anySpecial == minusInf:
		return math.Inf(-1)
	default:
		return math.NaN()
	}
	size := s.words
	negative := size[words-1]>>63 != 0
	if negative {
		negate(&size)
	}
	top := words - 1
	for top > 0 && size[top] == 0 {
		top--
	}
	if size[top] == 0 {
		if s.seen&nonzero == 0 && s.seen&some != 0 {
			return math.Copysign(0, -1)
		}
		return 0
	}
	// The bits from last on are kept. At least one bit lies below them, since no float has an
	// exponent as low as the lowest bit.
	last := max(64*top+bits.Len64(size[top])-precision, least-lowest)
	kept := from(&size, last)
	if half := from(&size, last-1) & 1; half != 0 && (kept&1 != 0 || anyBelow(&size, last-1)) {
		kept++
	}
	x := math.Ldexp(float64(kept), last+lowest) // kept has at most precision bits, or is a power of two
	if negative {
		return -x
	}
	return x
}

// negate replaces x by -x.
func negate(x *[words]uint64) {
	var borrow uint64
	for i := range x {
		x[i], borrow = bits.Sub64(0, x[i], borrow)
	}
}

// from returns 64 bits of x, from number bit on.
func from(x *[words]uint64, bit int) uint64 {
	at, by := bit/64, uint(bit%64)
	w := x[at] >> by
	if at+1 < words {
		w |= x[at+1] << (64 - by)
	}
	return w
}

// anyBelow reports whether one of the bits of x below number bit is set.
func anyBelow(x *[words]uint64, bit int) bool {
	for i := range bit / 64 {
		if x[i] != 0 {
			return true
		}
	}
	return x[bit/64]&(1<<uint(bit%64)-1) != 0
}

// Round returns the sum rounded to the nearest T.
func Round[T Float](s *Sum) T {
	if unsafe.Sizeof(*new(T)) == 4 {
		return T(s.Float32())
	}
	return T(s.Float64())
}
