package exact

import (
	"math"
	"math/bits"
)

const (
	// words is the number of words of a sum. The greatest product of two float64 is less than
	// 2^2048, so 91 bits are left for carries and the sign.
	words = 67

	// lowest is the exponent of the lowest bit, which is the product of the two smallest numbers.
	lowest = -2148

	// smallest is the exponent of the smallest float64.
	smallest = -1074

	// unit is the position of the lowest bit of a float64 in a sum.
	unit = smallest - lowest
)

// A Sum is an exact sum of floating-point numbers and of products of two of them. The zero Sum is
// the sum of none. Equal sums have equal bits: Sums can be compared with ==.
//
// A Sum can take 2^91 additions.
type Sum struct {
	words [words]uint64 // two's complement, the lowest word first
	seen  seen
}

// seen records properties of the added numbers that the words do not show.
type seen uint64

const (
	some      seen = 1 << iota // any number
	nonzero                    // any number that is not -0
	plusInf                    // +Inf
	minusInf                   // -Inf
	notNumber                  // NaN

	anySpecial = plusInf | minusInf | notNumber
)

// AddSum adds all that has been added to t.
func (s *Sum) AddSum(t *Sum) {
	var carry uint64
	for i := range s.words {
		s.words[i], carry = bits.Add64(s.words[i], t.words[i], carry)
	}
	s.see(t.seen)
}

// Add adds one number. Function Add is faster for several.
func (s *Sum) Add(x float64) {
	b := math.Float64bits(x)
	exponent, m := int(b>>52&0x7ff), b&(1<<52-1)
	negative := b>>63 != 0
	switch {
	case exponent == 0x7ff:
		s.special(negative, m != 0)
		return
	case exponent != 0:
		m |= 1 << 52
		exponent--
	}
	if b == 1<<63 {
		s.seen |= some
		return
	}
	s.seen |= some | nonzero
	s.shifted(negative, m, 0, uint(exponent)+unit)
}

// special adds an infinity or NaN.
func (s *Sum) special(negative, nan bool) {
	switch {
	case nan:
		s.see(some | nonzero | notNumber)
	case negative:
		s.see(some | nonzero | minusInf)
	default:
		s.see(some | nonzero | plusInf)
	}
}

// see records kinds of added numbers. A bin with a NaN does not show whether it has infinities too.
// So after a NaN, see forgets infinities.
func (s *Sum) see(what seen) {
	if s.seen |= what; s.seen&notNumber != 0 {
		s.seen &^= plusInf | minusInf
	}
}

// shifted adds or subtracts (hi·2^64 + lo)·2^by, in units of the lowest bit. hi·2^64 + lo is less
// than 2^127.
func (s *Sum) shifted(negative bool, lo, hi uint64, by uint) {
	at, by := by/64, by%64
	w := [3]uint64{lo << by, hi<<by | lo>>(64-by), hi >> (64 - by)}
	var carry uint64
	if negative {
		for _, x := range w {
			s.words[at], carry = bits.Sub64(s.words[at], x, carry)
			at++
		}
		for ; carry != 0 && at < words; at++ {
			s.words[at], carry = bits.Sub64(s.words[at], 0, carry)
		}
		return
	}
	for _, x := range w {
		s.words[at], carry = bits.Add64(s.words[at], x, carry)
		at++
	}
	for ; carry != 0 && at < words; at++ {
		s.words[at], carry = bits.Add64(s.words[at], 0, carry)
	}
}
