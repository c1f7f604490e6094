package fold

import "math"

// Processors differ in the NaN of an operation with two NaNs, or with an invalid result such as
// ∞-∞, and compilers swap operands. To get the same bits everywhere, this file computes NaNs as
// x86-64 does. The result is the left operand if that is NaN, otherwise the right one, as a quiet
// NaN. The result of an invalid operation is the NaN with the sign bit set and no payload.

const (
	quiet32, default32 = 1 << 22, 0xffc00000
	quiet64, default64 = 1 << 51, 0xfff8000000000000
)

// nan32 returns the result of an operation on x and y whose result is NaN.
func nan32(x, y float32) float32 {
	switch {
	case x != x:
		return math.Float32frombits(math.Float32bits(x) | quiet32)
	case y != y:
		return math.Float32frombits(math.Float32bits(y) | quiet32)
	}
	return math.Float32frombits(default32)
}

func nan64(x, y float64) float64 {
	switch {
	case x != x:
		return math.Float64frombits(math.Float64bits(x) | quiet64)
	case y != y:
		return math.Float64frombits(math.Float64bits(y) | quiet64)
	}
	return math.Float64frombits(default64)
}

func plus32(x, y float32) float32 {
	z := float32(x + y)
	if z != z {
		return nan32(x, y)
	}
	return z
}

func less32(x, y float32) float32 {
	z := float32(x - y)
	if z != z {
		return nan32(x, y)
	}
	return z
}

func times32(x, y float32) float32 {
	z := float32(x * y)
	if z != z {
		return nan32(x, y)
	}
	return z
}

func plus64(x, y float64) float64 {
	z := float64(x + y)
	if z != z {
		return nan64(x, y)
	}
	return z
}

func less64(x, y float64) float64 {
	z := float64(x - y)
	if z != z {
		return nan64(x, y)
	}
	return z
}

func times64(x, y float64) float64 {
	z := float64(x * y)
	if z != z {
		return nan64(x, y)
	}
	return z
}

// bound32 returns the result of Min (if negative is set) or Max of x and y, which are equal or not
// both numbers. A NaN prevails over a number. Of two NaNs, the one with the greater bits as a
// signed integer prevails. Of two zeros, Min takes the negative one and Max the positive one.
func bound32(x, y float32, negative bool) float32 {
	m, n := math.Float32bits(x), math.Float32bits(y)
	switch {
	case x == y && negative:
		return math.Float32frombits(m | n)
	case x == y:
		return math.Float32frombits(m & n)
	case x == x:
		return y
	case y == y || int32(m) > int32(n):
		return x
	}
	return y
}

func bound64(x, y float64, negative bool) float64 {
	m, n := math.Float64bits(x), math.Float64bits(y)
	switch {
	case x == y && negative:
		return math.Float64frombits(m | n)
	case x == y:
		return math.Float64frombits(m & n)
	case x == x:
		return y
	case y == y || int64(m) > int64(n):
		return x
	}
	return y
}
