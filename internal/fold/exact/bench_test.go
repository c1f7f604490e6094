package exact

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"
	"time"
)

func normal(n int) []float64 {
	r := rand.New(rand.NewPCG(7, 8))
	xs := make([]float64, n)
	for i := range xs {
		xs[i] = r.NormFloat64()
	}
	return xs
}

// spread draws numbers of both signs whose sizes are spread evenly over the given number of
// decades.
func spread(n int, decades float64) []float64 {
	r := rand.New(rand.NewPCG(9, 10))
	xs := make([]float64, n)
	for i := range xs {
		xs[i] = math.Pow(10, decades*r.Float64()) * float64(1-2*r.IntN(2))
	}
	return xs
}

// cancelling draws rows of normally distributed numbers. In each column, two numbers are much
// greater and cancel out.
func cancelling(rows, n int, decades int) []float64 {
	xs, r := normal(rows*n), rand.New(rand.NewPCG(17, 18))
	for i := range n {
		if a, b := r.IntN(rows), r.IntN(rows); a != b {
			flux := r.NormFloat64() * math.Pow10(decades)
			xs[a*n+i], xs[b*n+i] = flux, -flux
		}
	}
	return xs
}

// anyBits draws numbers of any exponent.
func anyBits(n int) []float64 {
	r := rand.New(rand.NewPCG(9, 10))
	xs := make([]float64, n)
	for i := range xs {
		xs[i] = number(r, 1)
	}
	return xs
}

func float32s(xs []float64) []float32 {
	small := make([]float32, len(xs))
	for i, x := range xs {
		small[i] = float32(x)
	}
	return small
}

func plainSum(xs []float64) (sum float64) {
	for _, x := range xs {
		sum += x
	}
	return sum
}

func plainDot(xs, ys []float64) (sum float64) {
	for i, x := range xs {
		sum += x * ys[i]
	}
	return sum
}

var sink float64

// A candidate is one of the functions that a benchmark measures in turn.
type candidate struct {
	name string
	call func()
}

// inTurn calls functions in turn, in random order, and reports the median time of each as a
// multiple of the first one's. Other work of the machine then slows all of them.
func inTurn(b *testing.B, all ...candidate) {
	times := make([][]time.Duration, len(all))
	order := rand.New(rand.NewPCG(2, 3))
	for range b.N * 300 {
		for _, i := range order.Perm(len(all)) {
			start := time.Now()
			all[i].call()
			times[i] = append(times[i], time.Since(start))
		}
	}
	median := func(i int) float64 {
		slices.Sort(times[i])
		return float64(times[i][len(times[i])/2])
	}
	for i := range all[1:] {
		b.ReportMetric(median(i+1)/median(0), all[i+1].name+"/"+all[0].name)
	}
	b.ReportMetric(0, "ns/op")
}

// BenchmarkAdd adds vectors that fit into the cache, and longer ones. It reports the time as a
// multiple of a plain loop's:
//
//	go test ./internal/fold/exact -run '^$' -bench . -benchtime 1x
func BenchmarkAdd(b *testing.B) {
	for _, n := range []int{8, 64, 256, 1 << 10, 1 << 14, 1 << 17} {
		xs, small, equal := normal(n), float32s(normal(n)), make([]float64, n)
		for i := range equal {
			equal[i] = 1 + float64(i)/float64(n)
		}
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			add := func(name string, xs []float64) candidate {
				return candidate{name, func() { var s Sum; Add(&s, xs); sink = s.Float64() }}
			}
			inTurn(b,
				candidate{"plain", func() { sink = plainSum(xs) }},
				add("exact", xs),
				add("one-exponent", equal),
				add("20-decades", spread(n, 20)),
				add("any", anyBits(n)),
				candidate{"float32", func() { var s Sum; Add(&s, small); sink = s.Float64() }})
		})
	}
}

// BenchmarkAddProducts is BenchmarkAdd for products.
func BenchmarkAddProducts(b *testing.B) {
	for _, n := range []int{8, 64, 256, 1 << 10, 1 << 14, 1 << 17} {
		xs, small := normal(n), float32s(normal(n))
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			add := func(name string, xs []float64) candidate {
				return candidate{name, func() { var s Sum; AddProducts(&s, xs, xs); sink = s.Float64() }}
			}
			inTurn(b,
				candidate{"plain", func() { sink = plainDot(xs, xs) }},
				add("exact", xs),
				add("10-decades", spread(n, 10)),
				add("any", anyBits(n)),
				candidate{"float32", func() { var s Sum; AddProducts(&s, small, small); sink = s.Float64() }})
		})
	}
}

// BenchmarkRows sums the elements of some ranks' vectors, beside a plain loop.
func BenchmarkRows(b *testing.B) {
	for _, ranks := range []int{2, 4, 16, 64} {
		b.Run(fmt.Sprint(ranks), func(b *testing.B) {
			const all = 1 << 16
			dst, dst32, small := make([]float64, all/ranks), make([]float32, all/ranks), float32s(normal(all))
			rows := func(name string, xs []float64) candidate {
				return candidate{name, func() { Rows(dst, xs) }}
			}
			xs := normal(all)
			inTurn(b,
				candidate{"plain", func() {
					copy(dst, xs)
					for at := len(dst); at < len(xs); at += len(dst) {
						for i, x := range xs[at:][:len(dst)] {
							dst[i] += x
						}
					}
				}},
				rows("exact", xs),
				rows("20-decades", spread(all, 20)),
				rows("40-decades", spread(all, 40)),
				rows("20-cancel", cancelling(ranks, all/ranks, 20)),
				rows("any", anyBits(all)),
				candidate{"float32", func() { Rows(dst32, small) }})
		})
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
