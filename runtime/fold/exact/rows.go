package exact

import (
	"math"
	"unsafe"
)

// Rows makes each element of dst the rounded sum of the elements at its place in rows. They lie one
// behind the other and are as long as dst. It panics if the last row is not complete.
func Rows[T Float](dst, rows []T) {
	n := len(dst)
	if n == 0 && len(rows) > 0 || n > 0 && len(rows)%n != 0 {
		panic("exact: rows that are not as long as their sums")
	}
	if len(rows) == 0 {
		clear(dst)
	}
	for i := range dst[:min(n, len(rows))] {
		// The sum of the numbers so far is sum + rest, unless lost says otherwise.
		sum, rest, lost := float64(rows[i]), 0.0, float64(rows[i]-rows[i])
		for at := i + n; at < len(rows); at += n {
			var off float64
			sum, off = twoSum(sum, float64(rows[at]))
			rest, off = twoSum(rest, off)
			lost += math.Abs(off)
		}
		switch both := sum + rest; {
		case lost != 0: // or NaN
			dst[i] = column[T](rows[i:], n)
		case both == 0:
			dst[i] = 0
			if sum == 0 { // that of -0 alone is -0
				dst[i] = T(sum)
			}
		case unsafe.Sizeof(dst[i]) == 4:
			dst[i] = T(odd(sum, rest))
		default:
			dst[i] = T(both)
		}
	}
}

// twoSum returns x+y rounded, and what has been rounded off.
func twoSum(x, y float64) (sum, off float64) {
	sum = x + y
	z := sum - x
	return sum, (x - (sum - z)) + (y - z)
}

// odd returns x + y, rounded so that rounding it again to much fewer bits is right: if it is not exact,
// its last bit is set, which no tie has.
func odd(x, y float64) float64 {
	sum, off := twoSum(x, y)
	b := math.Float64bits(sum)
	switch {
	case off == 0 || b&1 != 0:
	case (off < 0) == (sum < 0):
		b++
	default:
		b--
	}
	return math.Float64frombits(b)
}

// column returns the rounded sum of every n-th element.
func column[T Float](rows []T, n int) T {
	var s Sum
	for at := 0; at < len(rows); at += n {
		s.Add(float64(rows[at]))
	}
	return Round[T](&s)
}
