package exact

import (
	"encoding/binary"
	"fmt"
	"math"
	"math/big"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/schedgen/schedgen/internal/test/heavy"
)

// bigSum returns the sum of products by math/big.
func bigSum(products [][2]float64) (sum *big.Float, special float64, isSpecial bool) {
	sum = new(big.Float).SetPrec(6000)
	for _, p := range products {
		x, y := p[0], p[1]
		if x-x != 0 || y-y != 0 {
			special += x * y
			isSpecial = true
			continue
		}
		term := new(big.Float).SetPrec(200).Mul(big.NewFloat(x), big.NewFloat(y))
		sum.Add(sum, term)
	}
	return sum, special, isSpecial
}

// want returns the rounded sums of products, to float64 and to float32.
func want(products [][2]float64) (float64, float32) {
	sum, special, isSpecial := bigSum(products)
	switch {
	case isSpecial && special != special:
		return math.NaN(), float32(math.NaN())
	case isSpecial:
		return special, float32(special)
	case sum.Sign() == 0:
		zero := math.Copysign(0, -1)
		for _, p := range products {
			if x := p[0] * p[1]; p[0] != 0 && p[1] != 0 || !math.Signbit(x) {
				zero = 0
			}
		}
		if len(products) == 0 {
			zero = 0
		}
		return zero, float32(zero)
	}
	sum.SetMode(big.ToNearestEven)
	f, _ := sum.Float64()
	g, _ := sum.Float32()
	return f, g
}

func require64(t require.TestingT, want, got float64, what ...any) {
	if math.Float64bits(want) != math.Float64bits(got) {
		require.Equal(t, fmt.Sprintf("%x %016x", want, math.Float64bits(want)), fmt.Sprintf("%x %016x", got, math.Float64bits(got)), what...)
	}
}

func require32(t require.TestingT, want, got float32, what ...any) {
	if math.Float32bits(want) != math.Float32bits(got) {
		require.Equal(t, fmt.Sprintf("%x %08x", want, math.Float32bits(want)), fmt.Sprintf("%x %08x", got, math.Float32bits(got)), what...)
	}
}

// specials are extreme numbers.
var specials = []float64{
	0, math.Copysign(0, -1), 1, -1, 0.1, -3, 0x1p53, 0x1p-53, -0x1p-53, 0x1p-1074, -0x1p-1074, 0x1p-1022, 0x0.fffffffffffffp-1022,
	math.MaxFloat64, -math.MaxFloat64, 0x1p1023, 0x1p970, -0x1p970, 0x1p969, 0x1p-149, 0x1p-150, 0x1.fffffep127, 0x1p103, 0x1p24, 1 + 0x1p-24, 1 + 0x1p-52,
}

// number draws a number of one of a few kinds.
func number(r *rand.Rand, kind int) float64 {
	switch kind {
	case 0: // like measured values
		return r.NormFloat64()
	case 1: // with any bits but those of infinities and NaN
		for {
			if x := math.Float64frombits(r.Uint64()); x-x == 0 {
				return x
			}
		}
	case 2:
		return specials[r.IntN(len(specials))]
	case 3: // subnormal
		return math.Float64frombits(r.Uint64N(1<<53) | r.Uint64()&(1<<63))
	case 4: // huge
		return math.Float64frombits(0x7fe<<52 - r.Uint64N(1<<52) | r.Uint64()&(1<<63))
	case 5:
		return math.Ldexp(r.Float64()-0.5, r.IntN(120)-60)
	case 6: // of 32 bits
		return float64(math.Float32frombits(r.Uint32N(0x7f800000) | r.Uint32()&(1<<31)))
	case 7:
		return math.Copysign(0, -1)
	case 8:
		if r.IntN(10) == 0 {
			return []float64{math.Inf(1), math.Inf(-1), math.NaN(), -math.NaN(), math.Float64frombits(0x7ff0000000000007)}[r.IntN(5)]
		}
		return r.NormFloat64()
	case 9:
		if r.IntN(20) == 0 {
			return math.Inf(1)
		}
		return r.NormFloat64()
	}
	return float64(r.IntN(100) - 50)
}

const kinds = 11

// vector draws n numbers. Those of some vectors cancel out.
func vector(r *rand.Rand, n int) []float64 {
	kind, mixed, cancel := r.IntN(kinds), r.IntN(3) == 0, r.IntN(3) == 0
	xs := make([]float64, n)
	for i := range xs {
		if mixed {
			kind = r.IntN(8)
		}
		xs[i] = number(r, kind)
		if cancel && i%2 == 1 {
			xs[i] = -xs[r.IntN(i)]
		}
	}
	if cancel {
		r.Shuffle(n, func(i, j int) { xs[i], xs[j] = xs[j], xs[i] })
	}
	return xs
}

func squares(xs, ys []float64) [][2]float64 {
	all := make([][2]float64, len(xs))
	for i := range xs {
		all[i] = [2]float64{xs[i], ys[i]}
	}
	return all
}

func summands(xs []float64) [][2]float64 { return squares(xs, slices.Repeat([]float64{1}, len(xs))) }

// check adds a vector in many ways. All must give the bits that math/big gives.
func check(t require.TestingT, r *rand.Rand, xs, ys []float64) {
	var s, single, parts Sum
	Add(&s, xs)
	for _, i := range r.Perm(len(xs)) {
		single.Add(xs[i])
	}
	for rest := xs; len(rest) > 0; {
		n := r.IntN(len(rest)) + 1
		var part Sum
		Add(&part, rest[:n])
		part.AddSum(&parts)
		parts, rest = part, rest[n:]
	}
	require.Equal(t, s, single)
	require.Equal(t, s, parts)
	f, g := want(summands(xs))
	require64(t, f, s.Float64(), "%x", xs)
	require32(t, g, s.Float32(), "%x", xs)

	var dot, one Sum
	AddProducts(&dot, xs, ys)
	for _, i := range r.Perm(len(xs)) {
		one.AddProduct(ys[i], xs[i])
	}
	require.Equal(t, dot, one)
	f, g = want(squares(xs, ys))
	require64(t, f, dot.Float64(), "%x · %x", xs, ys)
	require32(t, g, dot.Float32(), "%x · %x", xs, ys)

	x32, y32, p32 := make([]float32, len(xs)), make([]float32, len(xs)), make([][2]float64, len(xs))
	for i := range xs {
		x32[i], y32[i] = float32(xs[i]), float32(ys[i])
		p32[i] = [2]float64{float64(x32[i]), float64(y32[i])}
	}
	dot = Sum{}
	AddProducts(&dot, x32, y32)
	_, g = want(p32)
	require32(t, g, Round[float32](&dot))
}

func TestSum(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	for range heavy.Or(3000, 100_000) {
		n := []int{0, 1, 2, 3, 7, 8, 9, 30, 300, 1200, 2500}[r.IntN(11)]
		if n > 100 && r.IntN(20) != 0 {
			n /= 100
		}
		check(t, r, vector(r, n), vector(r, n))
	}
}

func TestSumDrawn(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		xs := rapid.SliceOf(rapid.Float64()).Draw(rt, "xs")
		ys := rapid.SliceOfN(rapid.Float64(), len(xs), len(xs)).Draw(rt, "ys")
		check(rt, rand.New(rand.NewPCG(uint64(len(xs)), 1)), xs, ys)
	})
}

func checkRows(t require.TestingT, rows []float64, n int) {
	dst, dst32, rows32 := make([]float64, n), make([]float32, n), make([]float32, len(rows))
	for i, x := range rows {
		rows32[i] = float32(x)
	}
	Rows(dst, rows)
	Rows(dst32, rows32)
	for i := range n {
		var column, column32 []float64
		for at := i; at < len(rows); at += n {
			column, column32 = append(column, rows[at]), append(column32, float64(rows32[at]))
		}
		f, _ := want(summands(column))
		require64(t, f, dst[i], "%x", column)
		_, g := want(summands(column32))
		require32(t, g, dst32[i], "%x", column32)
	}
}

func TestRows(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 4))
	for range heavy.Or(2000, 100_000) {
		n := []int{1, 2, 7, 8, 9, 30, 140}[r.IntN(7)]
		checkRows(t, vector(r, n*r.IntN(min(12, 400/n))), n)
	}
	Rows[float64](nil, nil)
	require.Panics(t, func() { Rows(nil, []float64{1}) })
	require.Panics(t, func() { Rows(make([]float64, 2), make([]float64, 3)) })
}

// TestTies checks that halves are rounded to even, also where Rows rounds sum and rest twice.
func TestTies(t *testing.T) {
	for _, xs := range [][]float64{
		{1, 0x1p-53}, {1, 0x1p-53, 0x1p-1074}, {1, 0x1p-53, -0x1p-1074}, {1 + 0x1p-52, 0x1p-53}, {-1, -0x1p-53, -0x1p-300},
		{1, 0x1p-24}, {1, 0x1p-24, 0x1p-80}, {1, 0x1p-24, -0x1p-80}, {1 + 0x1p-23, 0x1p-24, -0x1p-149},
		{math.MaxFloat64, 0x1p970}, {math.MaxFloat64, 0x1p970, -0x1p-1074}, {math.MaxFloat64, math.MaxFloat64, -math.MaxFloat64},
		{0x1.fffffep127, 0x1p103}, {0x1.fffffep127, 0x1p103, -0x1p-149}, {0x1p127, 0x1p127, -0x1p127},
	} {
		check(t, rand.New(rand.NewPCG(5, 6)), xs, xs)
		checkRows(t, xs, 1)
	}
}

// TestSpecials checks sums of zeros, infinities and NaN against the package comment.
func TestSpecials(t *testing.T) {
	negative, inf := math.Copysign(0, -1), math.Inf(1)
	for _, c := range []struct {
		xs   []float64
		want float64
	}{
		{nil, 0}, {[]float64{negative}, negative}, {[]float64{negative, negative}, negative}, {[]float64{negative, 0}, 0}, {[]float64{-1, 1, negative}, 0},
		{[]float64{inf, -math.MaxFloat64}, inf}, {[]float64{-inf, 1, -inf}, -inf}, {[]float64{inf, -inf}, math.NaN()}, {[]float64{1, math.Float64frombits(0xfff0000000000001)}, math.NaN()},
		{[]float64{math.MaxFloat64, math.MaxFloat64}, inf}, {[]float64{-math.MaxFloat64, -math.MaxFloat64, math.MaxFloat64}, -math.MaxFloat64},
	} {
		for range 2 {
			var s Sum
			Add(&s, c.xs)
			require64(t, c.want, s.Float64(), "%v", c.xs)
			c.xs = append(c.xs, c.xs...) // by way of the bins
			c.xs = append(c.xs, c.xs...)
			c.xs = append(c.xs, c.xs...)
			if c.want-c.want == 0 {
				break
			}
		}
	}
	var s Sum
	Add(&s, slices.Repeat([]float64{negative}, 100))
	require64(t, negative, s.Float64())
}

// TestFullBin checks that a bin takes all numbers of a full table, beyond its low word.
func TestFullBin(t *testing.T) {
	for _, x := range []float64{math.Nextafter(2, 0), -math.MaxFloat64, -0x0.fffffffffffffp-1022} {
		b := math.Float64bits(x)
		const n = most * 2 // the rest of two products each goes to one of the tables
		hi, lo := mul(n-1, b)
		var s Sum
		s.bin(bin{lo, hi + (n-1)*one}, b>>52)
		var product Sum
		product.AddProduct(x, n-1)
		product.seen = s.seen
		require.Equal(t, product, s)
	}
}

func mul(n, b uint64) (hi, lo uint64) {
	p := new(big.Int).Mul(new(big.Int).SetUint64(n), new(big.Int).SetUint64(b))
	lo = new(big.Int).And(p, new(big.Int).SetUint64(math.MaxUint64)).Uint64()
	return p.Rsh(p, 64).Uint64(), lo
}

// FuzzBytes takes any bytes as a Sum, since another rank may send them. They are a number in any
// case.
func FuzzBytes(f *testing.F) {
	f.Add([]byte{1, 2, 3}, uint64(3))
	f.Fuzz(func(t *testing.T, data []byte, flags uint64) {
		s := Sum{seen: seen(flags)}
		var all [8 * words]byte
		copy(all[:], data)
		for i := range s.words {
			s.words[i] = binary.LittleEndian.Uint64(all[8*i:])
		}
		double := s
		double.AddSum(&s)
		_, _ = double.Float64(), double.Float32()
		x := s.Float64()
		if s.seen&anySpecial != 0 {
			return
		}
		i := new(big.Int)
		for k := words - 1; k >= 0; k-- {
			i.Lsh(i, 64).Or(i, new(big.Int).SetUint64(s.words[k]))
		}
		if s.words[words-1]>>63 != 0 {
			i.Sub(i, new(big.Int).Lsh(big.NewInt(1), 64*words))
		}
		exact := new(big.Float).SetInt(i)
		want, _ := exact.SetMantExp(exact, lowest).Float64()
		if math.Float64bits(x)&^(1<<63) != 0 {
			require64(t, want, x)
		} else {
			require.Zero(t, want)
		}
	})
}

func FuzzRows(f *testing.F) {
	f.Add([]byte("eight of it, and eight more of it"), uint8(1))
	f.Fuzz(func(t *testing.T, data []byte, n uint8) {
		var xs []float64
		for ; len(data) >= 8; data = data[8:] {
			xs = append(xs, math.Float64frombits(binary.LittleEndian.Uint64(data)))
		}
		width := int(n%4) + 1
		checkRows(t, xs[:len(xs)/width*width], width)
	})
}
