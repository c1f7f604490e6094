package exact

import (
	"math"
	"math/bits"
	"sync"
)

// Float is the types of numbers that can be added.
type Float interface{ ~float32 | ~float64 }

// A bin adds up the bits of numbers that have one sign and exponent, as unsigned integers. These
// include the bits of sign and exponent, which Sum.bin subtracts again.
type bin struct {
	low  uint64
	high uint64 // the carries of low, plus 2^32 times the number of numbers
}

// bins has a bin for each sign and exponent.
type bins [4096]bin

// A table has two sets of bins for use in turn, because an addition to a bin waits for the previous
// one. Tables in the pool are zero.
type table [2]bins

var tables = sync.Pool{New: func() any { return new(table) }}

const (
	one = 1 << 32 // the unit in which high counts numbers

	// most is the greatest number of numbers in a table: no bin overflows.
	most = 1 << 30

	// fewest is the number of numbers from which on a table is faster than adding them one by one.
	fewest = 8

	// sparse is the number of numbers up to which it is faster to visit the bins of these numbers
	// than all bins.
	sparse = 2048
)

// Add adds all of xs to s.
func Add[T Float](s *Sum, xs []T) {
	inBlocks(len(xs),
		func(from, to int) bool { return addBlock(s, xs[from:to]) },
		func(from, to int) { addByBins(s, xs[from:to]) })
}

// addByBins is Add by way of bins.
func addByBins[T Float](s *Sum, xs []T) {
	if len(xs) < fewest {
		for _, x := range xs {
			s.Add(float64(x))
		}
		return
	}
	t := tables.Get().(*table)
	for len(xs) > 0 {
		part := xs[:min(len(xs), most)]
		xs = xs[len(part):]
		add(t, part)
		if len(part) > sparse {
			t.moveAll(s)
			continue
		}
		for _, x := range part {
			if of := math.Float64bits(float64(x)) >> 52; t[0][of].high|t[1][of].high != 0 {
				t.move(s, of)
			}
		}
	}
	tables.Put(t)
}

// add adds numbers to the bins. The speed of additions to memory limits the loop.
func add[T Float](t *table, xs []T) {
	even, odd := &t[0], &t[1]
	for ; len(xs) >= 2; xs = xs[2:] {
		even.add(float64(xs[0]))
		odd.add(float64(xs[1]))
	}
	if len(xs) > 0 {
		even.add(float64(xs[0]))
	}
}

// add adds one number.
func (t *bins) add(x float64) {
	b := math.Float64bits(x)
	bin := &t[b>>52]
	var carry uint64
	bin.low, carry = bits.Add64(bin.low, b, 0)
	bin.high += one + carry
}

// moveAll moves all bins to s.
func (t *table) moveAll(s *Sum) {
	for i := range t[0] {
		if t[0][i].high|t[1][i].high != 0 {
			t.move(s, uint64(i))
		}
	}
}

// move moves the two bins of a sign and exponent to s.
func (t *table) move(s *Sum, of uint64) {
	of %= uint64(len(t[0]))
	for i := range t {
		if b := &t[i][of]; b.high != 0 {
			s.bin(*b, of)
			*b = bin{}
		}
	}
}

// bin adds a bin. of is the sign and the exponent, 12 bits, of its numbers.
func (s *Sum) bin(b bin, of uint64) {
	n, lo, hi := b.high/one, b.low, b.high%one
	taken, low := bits.Mul64(n, of<<52)
	lo, borrow := bits.Sub64(lo, low, 0)
	hi -= taken + borrow
	negative, exponent := of>>11 != 0, of&0x7ff
	switch exponent {
	case 0:
		s.seen |= some
		if !negative || lo|hi != 0 {
			s.seen |= nonzero
		}
		s.shifted(negative, lo, hi, unit)
	case 0x7ff:
		s.special(negative, lo|hi != 0)
	default: // add the leading bit 2^52 of each number, which is not stored
		s.seen |= some | nonzero
		var carry uint64
		lo, carry = bits.Add64(lo, n<<52, 0)
		hi += n>>12 + carry
		s.shifted(negative, lo, hi, uint(exponent-1)+unit)
	}
}
