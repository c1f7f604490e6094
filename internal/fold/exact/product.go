package exact

import (
	"math"
	"math/bits"
	"sync"
	"unsafe"
)

// AddProducts adds the products xs[i]·ys[i] without rounding them. It panics if the lengths differ.
func AddProducts[T Float](s *Sum, xs, ys []T) {
	if len(xs) != len(ys) {
		panic("exact: vectors of different lengths")
	}
	inBlocks(len(xs),
		func(from, to int) bool { return addProductBlock(s, xs[from:to], ys[from:to]) },
		func(from, to int) { addProductsByBins(s, xs[from:to], ys[from:to]) })
}

// addProductsByBins is AddProducts by way of bins.
func addProductsByBins[T Float](s *Sum, xs, ys []T) {
	if unsafe.Sizeof(*new(T)) == 4 {
		addProducts32(s, xs, ys)
		return
	}
	if len(xs) < fewest {
		for i, x := range xs {
			s.AddProduct(float64(x), float64(ys[i]))
		}
		return
	}
	t := productTables.Get().(*productTable)
	for len(xs) > 0 {
		n := min(len(xs), mostProducts)
		addProducts(s, t, xs[:n], ys[:n])
		if n > sparse {
			t.moveAll(s)
		} else {
			for i, x := range xs[:n] {
				t.move(s, productOf(math.Float64bits(float64(x)), math.Float64bits(float64(ys[i]))))
			}
		}
		xs, ys = xs[n:], ys[n:]
	}
	productTables.Put(t)
}

// addProducts32 adds products of float32. Each product is a float64 without rounding.
func addProducts32[T Float](s *Sum, xs, ys []T) {
	var products [sparse]float64
	for len(xs) > 0 {
		n := min(len(xs), len(products))
		for i, x := range xs[:n] {
			products[i] = float64(x) * float64(ys[i])
		}
		addByBins(s, products[:n])
		xs, ys = xs[n:], ys[n:]
	}
}

// A productBin adds up products that have one sign and one sum of exponents, as integers of 106
// bits.
type productBin struct{ low, high uint64 }

// A productTable has two bins for each sign and sum of exponents, for use in turn as in table.
// Tables in the pool are zero.
type productTable [2][8192]productBin

var productTables = sync.Pool{New: func() any { return new(productTable) }}

// mostProducts is the greatest number of products in a productTable: no bin reaches 2^127.
const mostProducts = 1 << 20

// productOf returns the number of the bin of a product: its sign and the sum of the exponents.
func productOf(x, y uint64) uint64 {
	return (x^y)>>63<<12 + x>>52&0x7ff + y>>52&0x7ff
}

// addProducts adds products to the bins. It adds products of zeros, subnormal numbers, infinities
// and NaN directly to s.
func addProducts[T Float](s *Sum, t *productTable, xs, ys []T) {
	ys = ys[:len(xs)]
	for i, x := range xs {
		x, y := math.Float64bits(float64(x)), math.Float64bits(float64(ys[i]))
		if x>>52&0x7ff-1 >= 0x7fe || y>>52&0x7ff-1 >= 0x7fe {
			s.AddProduct(math.Float64frombits(x), math.Float64frombits(y))
			continue
		}
		const fraction = 1<<52 - 1
		high, low := bits.Mul64(x&fraction|(fraction+1), y&fraction|(fraction+1))
		bin := &t[i&1][productOf(x, y)%8192]
		var carry uint64
		bin.low, carry = bits.Add64(bin.low, low, 0)
		bin.high += high + carry
	}
}

// moveAll moves all bins to s.
func (t *productTable) moveAll(s *Sum) {
	for i := range t[0] {
		a, b := &t[0][i], &t[1][i]
		if a.low|a.high|b.low|b.high != 0 {
			t.move(s, uint64(i))
		}
	}
}

// move moves two bins to s.
func (t *productTable) move(s *Sum, of uint64) {
	for i := range t {
		if b := &t[i][of%8192]; b.low|b.high != 0 {
			s.seen |= some | nonzero
			s.shifted(of>>12 != 0, b.low, b.high, uint(of&0xfff)-2)
			*b = productBin{}
		}
	}
}

// AddProduct adds x·y without rounding it.
func (s *Sum) AddProduct(x, y float64) {
	if x == 0 || y == 0 || x-x != 0 || y-y != 0 { // products of zeros, infinities and NaNs are exact
		s.Add(x * y)
		return
	}
	m, e := whole(x)
	n, f := whole(y)
	high, low := bits.Mul64(m, n)
	s.seen |= some | nonzero
	s.shifted(math.Signbit(x) != math.Signbit(y), low, high, uint(e+f-lowest))
}

// whole returns m and exponent such that the size of a finite x is m·2^exponent.
func whole(x float64) (m uint64, exponent int) {
	b := math.Float64bits(x)
	m, exponent = b&(1<<52-1), int(b>>52&0x7ff)
	if exponent != 0 {
		m |= 1 << 52
		exponent--
	}
	return m, exponent + smallest
}
