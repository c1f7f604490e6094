package fold

// plain returns the kernels in Go, which all machines have. All other kernels have the same
// results, bit by bit.
func plain() *table {
	t := new(table)
	integers[int8](t, int8s)
	integers[int16](t, int16s)
	integers[int32](t, int32s)
	integers[int64](t, int64s)
	integers[uint8](t, uint8s)
	integers[uint16](t, uint16s)
	integers[uint32](t, uint32s)
	integers[uint64](t, uint64s)
	floats(t, float32s, nan32, bound32)
	floats(t, float64s, nan64, bound64)
	t[sum][complex64s] = ofPairs(t[sum][float32s], 8)
	t[sum][complex128s] = ofPairs(t[sum][float64s], 16)
	t[prod][complex64s] = viewed(prodComplex64s)
	t[prod][complex128s] = viewed(prodComplex128s)
	bits(t)
	return t
}

// bits copies kernels to other classes of the same size, for operations on bits and on truth
// values. A bool is a byte that is 0 or 1.
func bits(t *table) {
	for c, signed := range map[class]class{uint8s: int8s, uint16s: int16s, uint32s: int32s, uint64s: int64s} {
		for op := and; op <= logicalXor; op++ {
			t[op][signed] = t[op][c]
		}
	}
	for op, logical := range map[code]code{and: logicalAnd, or: logicalOr, xor: logicalXor} {
		t[op][bools] = t[logical][uint8s]
		t[logical][bools] = t[logical][uint8s]
	}
}

// ofPairs makes a kernel for pairs of size bytes from a kernel for their halves.
func ofPairs(halves Kernel, size int) Kernel {
	return func(dst, a, b []byte) {
		check(size, dst, a, b)
		halves(dst, a, b)
	}
}

type integer interface {
	int8 | int16 | int32 | int64 | uint8 | uint16 | uint32 | uint64
}

type float interface{ float32 | float64 }

// integers fills in the kernels of one type of integers.
func integers[T integer](t *table, c class) {
	t[sum][c] = viewed(sumOf[T])
	t[prod][c] = viewed(prodOf[T])
	t[least][c] = viewed(leastOf[T])
	t[greatest][c] = viewed(greatestOf[T])
	t[and][c] = viewed(andOf[T])
	t[or][c] = viewed(orOf[T])
	t[xor][c] = viewed(xorOf[T])
	t[logicalAnd][c] = viewed(logicalAndOf[T])
	t[logicalOr][c] = viewed(logicalOrOf[T])
	t[logicalXor][c] = viewed(logicalXorOf[T])
}

func sumOf[T integer](dst, a, b []T) {
	a, b = a[:len(dst)], b[:len(dst)]
	for i := range dst {
		dst[i] = a[i] + b[i]
	}
}

func prodOf[T integer](dst, a, b []T) {
	a, b = a[:len(dst)], b[:len(dst)]
	for i := range dst {
		dst[i] = a[i] * b[i]
	}
}

func leastOf[T integer](dst, a, b []T) {
	a, b = a[:len(dst)], b[:len(dst)]
	for i := range dst {
		dst[i] = min(a[i], b[i])
	}
}

func greatestOf[T integer](dst, a, b []T) {
	a, b = a[:len(dst)], b[:len(dst)]
	for i := range dst {
		dst[i] = max(a[i], b[i])
	}
}

func andOf[T integer](dst, a, b []T) {
	a, b = a[:len(dst)], b[:len(dst)]
	for i := range dst {
		dst[i] = a[i] & b[i]
	}
}

func orOf[T integer](dst, a, b []T) {
	a, b = a[:len(dst)], b[:len(dst)]
	for i := range dst {
		dst[i] = a[i] | b[i]
	}
}

func xorOf[T integer](dst, a, b []T) {
	a, b = a[:len(dst)], b[:len(dst)]
	for i := range dst {
		dst[i] = a[i] ^ b[i]
	}
}

func logicalAndOf[T integer](dst, a, b []T) {
	a, b = a[:len(dst)], b[:len(dst)]
	for i := range dst {
		dst[i] = one[T](a[i] != 0 && b[i] != 0)
	}
}

func logicalOrOf[T integer](dst, a, b []T) {
	a, b = a[:len(dst)], b[:len(dst)]
	for i := range dst {
		dst[i] = one[T](a[i] != 0 || b[i] != 0)
	}
}

func logicalXorOf[T integer](dst, a, b []T) {
	a, b = a[:len(dst)], b[:len(dst)]
	for i := range dst {
		dst[i] = one[T]((a[i] != 0) != (b[i] != 0))
	}
}

// one returns 1 if is holds, and 0 otherwise.
func one[T integer](is bool) T {
	if is {
		return 1
	}
	return 0
}

// floats fills in the kernels of one type of floating-point numbers. nan returns the result of a
// sum or product that is NaN. bound returns the result of Min and Max of equal numbers and of NaNs.
func floats[T float](t *table, c class, nan func(x, y T) T, bound func(x, y T, negative bool) T) {
	t[sum][c] = viewed(func(dst, a, b []T) {
		a, b = a[:len(dst)], b[:len(dst)]
		for i := range dst {
			s := a[i] + b[i]
			if s != s {
				s = nan(a[i], b[i])
			}
			dst[i] = s
		}
	})
	t[prod][c] = viewed(func(dst, a, b []T) {
		a, b = a[:len(dst)], b[:len(dst)]
		for i := range dst {
			p := a[i] * b[i]
			if p != p {
				p = nan(a[i], b[i])
			}
			dst[i] = p
		}
	})
	t[least][c] = viewed(func(dst, a, b []T) {
		a, b = a[:len(dst)], b[:len(dst)]
		for i := range dst {
			switch x, y := a[i], b[i]; {
			case x < y:
				dst[i] = x
			case y < x:
				dst[i] = y
			default:
				dst[i] = bound(x, y, true)
			}
		}
	})
	t[greatest][c] = viewed(func(dst, a, b []T) {
		a, b = a[:len(dst)], b[:len(dst)]
		for i := range dst {
			switch x, y := a[i], b[i]; {
			case x > y:
				dst[i] = x
			case y > x:
				dst[i] = y
			default:
				dst[i] = bound(x, y, false)
			}
		}
	})
}

// prodComplex64s multiplies by the plain formula. Each product and each sum is rounded separately;
// a conversion tells processors that could fuse them not to do so. Each also has its own NaN.
func prodComplex64s(dst, a, b []complex64) {
	a, b = a[:len(dst)], b[:len(dst)]
	for i := range dst {
		ar, ai, br, bi := real(a[i]), imag(a[i]), real(b[i]), imag(b[i])
		dst[i] = complex(less32(times32(ar, br), times32(ai, bi)), plus32(times32(ar, bi), times32(ai, br)))
	}
}

func prodComplex128s(dst, a, b []complex128) {
	a, b = a[:len(dst)], b[:len(dst)]
	for i := range dst {
		ar, ai, br, bi := real(a[i]), imag(a[i]), real(b[i]), imag(b[i])
		dst[i] = complex(less64(times64(ar, br), times64(ai, bi)), plus64(times64(ar, bi), times64(ai, br)))
	}
}
