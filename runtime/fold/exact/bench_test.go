package exact

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"
)

func normal(n int) []float64 {
	r := rand.New(rand.NewPCG(7, 8))
	xs := make([]float64, n)
	for i := range xs {
		xs[i] = r.NormFloat64()
	}
	return xs
}

func plainSum(xs []float64) (sum float64) {
	for _, x := range xs {
		sum += x
	}
	return sum
}

var sink float64

// BenchmarkAdd adds vectors in the cache and beyond it, beside a plain loop.
func BenchmarkAdd(b *testing.B) {
	for _, n := range []int{1, 7, 8, 32, 256, 2048, 1 << 14, 1 << 17, 1 << 20} {
		xs := normal(n)
		wide := make([]float64, n) // of any exponent
		r := rand.New(rand.NewPCG(9, 10))
		for i := range wide {
			wide[i] = number(r, 1)
		}
		equal := make([]float64, n) // of one exponent
		for i := range equal {
			equal[i] = 1 + float64(i)/float64(n)
		}
		small := make([]float32, n)
		for i := range small {
			small[i] = float32(xs[i])
		}
		measure := func(what string, f func()) {
			b.Run(fmt.Sprintf("%s/%d", what, n), func(b *testing.B) {
				b.SetBytes(int64(8 * n))
				for b.Loop() {
					f()
				}
			})
		}
		var s Sum
		measure("plain", func() { sink = plainSum(xs) })
		measure("exact", func() { s = Sum{}; Add(&s, xs); sink = s.Float64() })
		measure("equal", func() { s = Sum{}; Add(&s, equal); sink = s.Float64() })
		measure("wide", func() { s = Sum{}; Add(&s, wide); sink = s.Float64() })
		measure("float32", func() { s = Sum{}; Add(&s, small); sink = s.Float64() })
		measure("products", func() { s = Sum{}; AddProducts(&s, xs, xs); sink = s.Float64() })
	}
}

// BenchmarkRows sums the elements of some ranks' vectors, beside a plain loop.
func BenchmarkRows(b *testing.B) {
	for _, ranks := range []int{2, 4, 16, 64} {
		const all = 1 << 16
		rows, dst := normal(all), make([]float64, all/ranks)
		wide, rows32, dst32 := make([]float64, all), make([]float32, all), make([]float32, all/ranks)
		r := rand.New(rand.NewPCG(9, 10))
		for i := range wide {
			wide[i], rows32[i] = number(r, 1), float32(rows[i])
		}
		measure := func(what string, f func()) {
			b.Run(fmt.Sprintf("%s/%d", what, ranks), func(b *testing.B) {
				b.SetBytes(8 * all)
				for b.Loop() {
					f()
				}
			})
		}
		measure("plain", func() {
			copy(dst, rows)
			for at := len(dst); at < len(rows); at += len(dst) {
				for i, x := range rows[at:][:len(dst)] {
					dst[i] += x
				}
			}
		})
		measure("exact", func() { Rows(dst, rows) })
		measure("wide", func() { Rows(dst, wide) })
		measure("float32", func() { Rows(dst32, rows32) })
	}
}

func BenchmarkAddSum(b *testing.B) {
	var s, t Sum
	s.Add(math.Pi)
	t.Add(-math.E)
	for b.Loop() {
		s.AddSum(&t)
	}
}

func BenchmarkRound(b *testing.B) {
	var s Sum
	s.Add(-math.Pi)
	for b.Loop() {
		sink = s.Float64()
	}
}
