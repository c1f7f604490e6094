package exact

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/schedgen/schedgen/internal/test/heavy"
)

// fewBits draws a number with one or two bits set. Sums of such numbers are often halfway between
// two floats.
func fewBits(r *rand.Rand, exponents int) float64 {
	x := 1.0
	if r.IntN(2) == 0 {
		x += math.Ldexp(1, -r.IntN(53))
	}
	x = math.Ldexp(x, r.IntN(exponents)-exponents/2)
	if r.IntN(2) == 0 {
		return -x
	}
	return x
}

// TestRowsNearTies checks that sums halfway between two floats, or close to that, are rounded as by
// Sum: in assembly, in Go, and for float32.
func TestRowsNearTies(t *testing.T) {
	r := rand.New(rand.NewPCG(15, 16))
	const columns = 24
	for range heavy.Or(20_000, 1_000_000) {
		count, exponents := r.IntN(10)+1, []int{30, 60, 120, 250, 2000}[r.IntN(5)]
		rows, rows32 := make([]float64, count*columns), make([]float32, count*columns)
		for i := range rows {
			rows[i] = fewBits(r, exponents)
			rows32[i] = float32(fewBits(r, min(exponents, 240)))
		}
		got, got32 := make([]float64, columns), make([]float32, columns)
		Rows(got, rows)
		Rows(got32, rows32)
		for i := range columns {
			want := column(rows[i:], columns)
			require64(t, want, got[i], "%d of %x", i, rows)
			require64(t, want, oneColumn(rows[i:], columns), "%d of %x", i, rows)
			want32 := column(rows32[i:], columns)
			require32(t, want32, got32[i], "%d of %x", i, rows32)
			require32(t, want32, oneColumn(rows32[i:], columns), "%d of %x", i, rows32)
		}
	}
}

// unsure returns the share of columns that need a Sum.
func unsure(rows []float64, n int) float64 {
	missed := 0
	for i := range n {
		c := columnSum{sum: rows[i]}
		for at := i + n; at < len(rows); at += n {
			c.add(rows[at])
		}
		if _, ok := round[float64](c); !ok {
			missed++
		}
	}
	return float64(missed) / float64(n)
}

// TestRowsAreSure checks that hardly any column needs a Sum, however far the sizes of its numbers
// are spread. Only a column whose greatest numbers sum up to halfway between two floats needs one.
// If the greatest numbers cancel out, the rest of the sum may be 30 decades smaller.
func TestRowsAreSure(t *testing.T) {
	const n, few = 4096, 0.001
	for _, ranks := range []int{2, 3, 4, 16, 64} {
		for _, decades := range []float64{3, 12, 20, 40, 100, 300} {
			require.LessOrEqual(t, unsure(spread(n*ranks, decades), n), few, "%d ranks, %v decades", ranks, decades)
		}
		for _, decades := range []int{10, 20, 30} {
			require.LessOrEqual(t, unsure(cancelling(ranks, n, decades), n), few, "%d ranks, %d decades that cancel", ranks, decades)
		}
	}
}
