package exact

import (
	"math"
	"math/bits"
	"unsafe"
)

// AddProducts adds the products of the numbers at the same places of xs and ys. They are not rounded.
// It panics if the lengths differ.
func AddProducts[T Float](s *Sum, xs, ys []T) {
	if len(xs) != len(ys) {
		panic("exact: vectors of different lengths")
	}
	if len(xs) <= sparse/2 {
		var terms [256]float64
		for len(xs) > 0 {
			n, k := split(s, &terms, xs, ys)
			xs, ys = xs[n:], ys[n:]
			Add(s, terms[:k])
		}
		return
	}
	t := tables.Get().(*table)
	var terms [256]float64
	for len(xs) > 0 {
		for left := most / len(terms); left > 0 && len(xs) > 0; left-- {
			n, k := split(s, &terms, xs, ys)
			xs, ys = xs[n:], ys[n:]
			add(t, terms[:k])
		}
		t.moveAll(s)
	}
	tables.Put(t)
}

// split writes products to terms, as many as there is room for. Those of float64 become two terms each:
// the rounded product and the rest. Products that are not such a sum go to s. It returns how many
// products there are and how many terms.
func split[T Float](s *Sum, terms *[256]float64, xs, ys []T) (products, n int) {
	if unsafe.Sizeof(xs[0]) == 4 { // these are float64 as they are
		products = min(len(xs), len(terms))
		ys = ys[:products]
		for i, x := range xs[:products] {
			terms[i] = float64(x) * float64(ys[i])
		}
		return products, products
	}
	products = min(len(xs), len(terms)/2)
	ys = ys[:products]
	for i, x := range xs[:products] {
		x, y := float64(x), float64(ys[i])
		p := x * y
		if exponent := math.Float64bits(p) >> 52 & 0x7ff; exponent-safe >= 0x7ff-safe {
			s.AddProduct(x, y)
			continue
		}
		terms[n&0xff], terms[(n+1)&0xff] = p, math.FMA(x, y, -p)
		n += 2
	}
	return products, n
}

// safe is the exponent field from which on the rest of a rounded product is a float64: its last bit is
// that of the exact product, which lies less than 2·53 bits below the first one.
const safe = 1023 + smallest + 2*53

// AddProduct adds x·y, which is not rounded.
func (s *Sum) AddProduct(x, y float64) {
	p := x * y
	if x == 0 || y == 0 || x-x != 0 || y-y != 0 { // zeros, infinities and NaNs are as they are
		s.Add(p)
		return
	}
	m, e := whole(x)
	n, f := whole(y)
	hi, lo := bits.Mul64(m, n)
	s.seen |= some | nonzero
	s.shifted(math.Signbit(x) != math.Signbit(y), lo, hi, uint(e+f-lowest))
}

// whole returns the integer m and the exponent for which a finite x is m·2^exponent, without its sign.
func whole(x float64) (m uint64, exponent int) {
	b := math.Float64bits(x)
	m, exponent = b&(1<<52-1), int(b>>52&0x7ff)
	if exponent != 0 {
		m |= 1 << 52
		exponent--
	}
	return m, exponent + smallest
}
