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
		return
	}
	from := 0
	if fast && unsafe.Sizeof(dst[0]) == 8 {
		from = fastRows(dst, rows)
	}
	for i := from; i < n; i++ {
		// The sum of the numbers so far is sum + rest, unless lost says otherwise.
		sum, rest, lost := float64(rows[i]), 0.0, float64(rows[i]-rows[i])
		for at := i + n; at < len(rows); at += n {
			var off float64
			sum, off = twoSum(sum, float64(rows[at]))
			rest, off = twoSum(rest, off)
			lost += math.Abs(off)
		}
		dst[i] = rounded(sum, rest, lost, rows[i:], n)
	}
}

// fastRows does what Rows does for the first columns, and returns how many they are.
func fastRows[T Float](dst, rows []T) int {
	const block = 128
	var sums, rests, lost [block]float64
	n, all := len(dst), len(dst)&^7
	for from := 0; from < all; from += block {
		columns := min(block, all-from)
		addRows(&sums[0], &rests[0], &lost[0], (*float64)(unsafe.Pointer(&rows[from])), columns, 8*n, len(rows)/n)
		for i := range columns {
			if both := sums[i] + rests[i]; both != 0 && lost[i] == 0 {
				dst[from+i] = T(both)
				continue
			}
			dst[from+i] = rounded(sums[i], rests[i], lost[i], rows[from+i:], n)
		}
	}
	return all
}

// rounded returns the sum of a column, every n-th element of rows. It is sum + rest unless lost is not 0.
func rounded[T Float](sum, rest, lost float64, rows []T, n int) T {
	both := sum + rest
	switch {
	case lost != 0: // or NaN
		return column(rows, n)
	case both == 0 && sum != 0:
		return 0
	case both == 0: // a sum of -0 alone is -0
		return T(sum)
	case unsafe.Sizeof(rows[0]) == 4:
		return T(odd(sum, rest))
	}
	return T(both)
}

// twoSum returns x+y rounded, and the error of that: x+y is exactly sum+off.
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
