package exact

import (
	"math"
	"math/bits"
	"unsafe"
)

// Rows sets each element of dst to the rounded sum of the elements at its place in all rows. rows
// holds the rows one after the other, each as long as dst. Rows panics if the last row is not
// complete.
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
	if fast {
		from = fastRows(dst, rows)
	}
	for i := from; i < n; i++ {
		dst[i] = oneColumn(rows[i:], n)
	}
}

// oneColumn returns the rounded sum of every n-th element.
func oneColumn[T Float](rows []T, n int) T {
	c := columnSum{sum: float64(rows[0]), lost: float64(rows[0] - rows[0])}
	for at := n; at < len(rows); at += n {
		c.add(float64(rows[at]))
	}
	if rounded, ok := round[T](c); ok {
		return rounded
	}
	return column(rows, n)
}

// A columnSum is sum + rest + third, with an error of at most lost.
type columnSum struct {
	sum   float64
	rest  float64 // the sum of the errors of sum
	third float64 // the sum of the errors of rest
	lost  float64 // the sum of the sizes of the errors of third; NaN after infinities, NaN and overflow
}

func (c *columnSum) add(x float64) {
	c.sum, x = twoSum(c.sum, x)
	c.rest, x = twoSum(c.rest, x)
	c.third, x = twoSum(c.third, x)
	c.lost += math.Abs(x)
}

// round returns the rounded sum of a column. ok is false if c does not determine it.
//
// The sum lies between two numbers. Rounding is monotonic, so if both round to the same number, the
// sum does too.
func round[T Float](c columnSum) (rounded T, ok bool) {
	high, low := twoSum(c.sum, c.rest)
	low, off := twoSum(low, c.third)
	high, low = twoSum(high, low)
	small := unsafe.Sizeof(rounded) == 4
	switch {
	case off != 0 || c.lost != 0: // or NaN
	case high == 0 && c.sum == 0: // a sum of -0 alone is -0
		return T(c.sum), true
	case small:
		return T(odd(high, low)), true
	default:
		return T(high), true
	}
	// The sum is high + low + off, with an error of at most lost. wide exceeds off and all
	// roundings, here and in lost.
	wide := 2*(math.Abs(off)+c.lost) + math.Abs(low)*0x1p-51
	if small {
		up, down := T(odd(high, low+wide)), T(odd(high, low-wide))
		return up, up == down && up != 0
	}
	up, down := high+(low+wide), high+(low-wide)
	if up == down {
		return T(up), up != 0
	}
	// If high + low is halfway between high and other, the sign of off decides.
	other := high + 2*low
	if low == 0 || other-high != 2*low || !(math.Abs(off) > 2*c.lost) {
		return 0, false
	}
	if (off < 0) != (low < 0) {
		other = high
	}
	return T(other), true
}

// fastRows is Rows for the first columns, and returns their number. The assembly does not know
// whether the sum of the errors of rest is exact. It adds up the sizes of these errors. Each of the
// count additions has an error of at most 2^-53 of that sum. So slack times the sum is more than
// twice the error of third.
func fastRows[T Float](dst, rows []T) int {
	const block = 1024
	var unsure [block / 8]uint8
	n, all, count := len(dst), len(dst)&^7, len(rows)/len(dst)
	slack := float64(count) * 0x1p-52
	for from := 0; from < all; from += block {
		columns := min(block, all-from)
		to, first := unsafe.Pointer(&dst[from]), unsafe.Pointer(&rows[from])
		if unsafe.Sizeof(dst[0]) == 4 {
			addRows32((*float32)(to), &unsure[0], (*float32)(first), columns, 4*n, count, slack)
		} else {
			addRows64((*float64)(to), &unsure[0], (*float64)(first), columns, 8*n, count, slack)
		}
		for at, flags := range unsure[:columns/8] {
			for ; flags != 0; flags &= flags - 1 {
				i := from + 8*at + bits.TrailingZeros8(flags)
				dst[i] = oneColumn(rows[i:], n)
			}
		}
	}
	return all
}

// twoSum returns x+y rounded, and the rounding error: x+y is exactly sum+off.
func twoSum(x, y float64) (sum, off float64) {
	sum = x + y
	z := sum - x
	return sum, (x - (sum - z)) + (y - z)
}

// odd returns x + y rounded to odd: if the result is not exact, its last bit is set. No tie has
// that bit set, so rounding the result again to far fewer bits is correct.
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
