package schedgen_test

import (
	"context"
	"errors"
	"fmt"
	"math"
	"math/big"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/schedgen/schedgen"
	"github.com/schedgen/schedgen/internal/test/heavy"
	"github.com/schedgen/schedgen/runtime/mem"
	"github.com/schedgen/schedgen/schedule"
)

// drawNumber draws a number of one of several kinds: like measured values, with any bits,
// subnormal, huge, with few bits, or an infinity or NaN.
func drawNumber(r *rand.Rand, kind int) float64 {
	switch kind {
	case 0:
		return r.NormFloat64()
	case 1:
		return math.Float64frombits(r.Uint64()&^(1<<62) | 1<<61)
	case 2:
		return math.Float64frombits(r.Uint64N(1<<54) | r.Uint64()&(1<<63))
	case 3:
		return math.Copysign(math.MaxFloat64, r.Float64()-0.5)
	case 4:
		return []float64{0, math.Copysign(0, -1), 1, 0x1p-53, -1, 0x1p53}[r.IntN(6)]
	}
	if r.IntN(30) == 0 {
		return []float64{math.Inf(1), math.Inf(-1), math.NaN()}[r.IntN(3)]
	}
	return r.Float64()
}

// drawVector draws n numbers. Many of them may cancel out.
func drawVector(r *rand.Rand, n int) []float64 {
	xs := make([]float64, n)
	kind, cancel := r.IntN(7), r.IntN(2) == 0
	for i := range xs {
		k := kind
		if kind == 6 {
			k = r.IntN(5)
		}
		if xs[i] = drawNumber(r, k); cancel && i%2 == 1 {
			xs[i] = -xs[r.IntN(i)]
		}
	}
	return xs
}

// roundedSum returns the sum by math/big, rounded once.
func roundedSum(xs []float64) float64 {
	sum, special, zero := new(big.Float).SetPrec(4000), 0.0, math.Copysign(0, -1)
	for _, x := range xs {
		if x-x != 0 {
			special += x
			continue
		}
		if math.Float64bits(x) != 1<<63 {
			zero = 0
		}
		sum.Add(sum, big.NewFloat(x))
	}
	switch {
	case special != special:
		return math.NaN()
	case special != 0:
		return special
	case sum.Sign() == 0 && len(xs) > 0:
		return zero
	}
	f, _ := sum.Float64()
	return f
}

// hex is a number with all its bits.
func hex[T float32 | float64](x T) string {
	return fmt.Sprintf("%x %016x", x, math.Float64bits(float64(x)))
}

// differ returns an error that says where got first differs from want.
func differ[T float32 | float64](c *schedgen.Comm, got, want []T) error {
	for i, x := range got {
		if math.Float64bits(float64(x)) != math.Float64bits(float64(want[i])) {
			return fmt.Errorf("rank %d of %d: element %d of %d is %s, want %s", c.Rank(), c.Size(), i, len(got), hex(x), hex(want[i]))
		}
	}
	return nil
}

// divided gives each number to any of the ranks.
func divided(r *rand.Rand, xs []float64, ranks int) [][]float64 {
	parts := make([][]float64, ranks)
	for _, i := range r.Perm(len(xs)) {
		rank := r.IntN(ranks)
		parts[rank] = append(parts[rank], xs[i])
	}
	return parts
}

// exactFolds are the collectives that fold; each returns the ranks whose contributions are in buf,
// and whether this rank has a result.
var exactFolds = map[string]func(ctx context.Context, c *schedgen.Comm, buf []schedgen.Exact) (ranks int, err error){
	"allreduce": func(ctx context.Context, c *schedgen.Comm, buf []schedgen.Exact) (int, error) {
		return c.Size(), schedgen.Allreduce(ctx, c, buf, schedgen.Sum)
	},
	"reduce": func(ctx context.Context, c *schedgen.Comm, buf []schedgen.Exact) (int, error) {
		ranks := 0
		if c.Rank() == 0 {
			ranks = c.Size()
		}
		return ranks, schedgen.Reduce(ctx, c, buf, schedgen.Sum, 0)
	},
	"scan": func(ctx context.Context, c *schedgen.Comm, buf []schedgen.Exact) (int, error) {
		return c.Rank() + 1, schedgen.Scan(ctx, c, buf, schedgen.Sum)
	},
	"exscan": func(ctx context.Context, c *schedgen.Comm, buf []schedgen.Exact) (int, error) {
		return c.Rank(), schedgen.Exscan(ctx, c, buf, schedgen.Sum)
	},
	"reduce-scatter": func(ctx context.Context, c *schedgen.Comm, buf []schedgen.Exact) (int, error) {
		dst := make([]schedgen.Exact, len(buf))
		err := schedgen.ReduceScatter(ctx, c, dst, slices.Concat(slices.Repeat([][]schedgen.Exact{buf}, c.Size())...), schedgen.Sum)
		copy(buf, dst)
		return c.Size(), err
	},
}

// TestExactByEveryAlgorithm checks that Exacts have the same bits for every number of ranks, every
// algorithm, all losses and reorderings, and every division of the numbers. Rounded, they equal the
// sum by math/big.
func TestExactByEveryAlgorithm(t *testing.T) {
	r := rand.New(rand.NewPCG(11, 12))
	vectors := make([][]float64, heavy.Or(16, 1000))
	wholes, want := make([]schedgen.Exact, len(vectors)), make([]float64, len(vectors))
	for v := range vectors {
		vectors[v] = drawVector(r, r.IntN(100))
		want[v] = roundedSum(vectors[v])
		wholes[v].Add(vectors[v]...)
	}
	sizes := []int{1, 2, 3, 5, 8, 13}
	if heavy.Tests() {
		for sizes = nil; len(sizes) < 64; {
			sizes = append(sizes, len(sizes)+1)
		}
	}
	for _, alg := range schedule.Algorithms() {
		row := alg.Row()
		call := exactFolds[row.Name]
		if call == nil {
			continue
		}
		t.Run(alg.Name, func(t *testing.T) {
			vectors := vectors
			if row.Inputs(2) > 1 { // every rank contributes to as many blocks as there are ranks
				vectors = vectors[:min(100, len(vectors))]
			}
			for _, size := range append(sizes, r.IntN(51)+14) {
				parts := make([][][]float64, len(vectors))
				for v := range parts {
					parts[v] = divided(r, vectors[v], size)
				}
				o := mem.Options{Queue: 4096, Seed: r.Uint64(), Windows: r.IntN(2) == 0, Reorder: []float64{0, 0.3}[r.IntN(2)]}
				if r.IntN(2) == 0 {
					o.Loss, o.Duplicate = 0.2, 0.1
				}
				comms := groupOf(t, size, o, schedgen.Config{Algorithms: map[string]schedgen.Algorithm{row.Name: {Name: alg.Name}}})
				require.NoError(t, each(comms, func(c *schedgen.Comm) error {
					sums := make([]schedgen.Exact, len(vectors))
					for v := range sums {
						sums[v].Add(parts[v][c.Rank()]...)
					}
					ranks, err := call(t.Context(), c, sums)
					if err != nil || ranks == 0 {
						return err
					}
					for v := range sums {
						var whole schedgen.Exact
						for _, part := range parts[v][:ranks] {
							whole.Add(part...)
						}
						if sums[v] != whole || ranks == size && whole != wholes[v] {
							return fmt.Errorf("rank %d of %d: the sum of %x differs from one that is added up at once", c.Rank(), size, parts[v][:ranks])
						}
						if got := sums[v].Float64(); ranks == size && math.Float64bits(got) != math.Float64bits(want[v]) {
							return fmt.Errorf("rank %d of %d: the sum of %x is %s, want %s", c.Rank(), size, vectors[v], hex(got), hex(want[v]))
						}
					}
					return nil
				}))
				closeAll(t, comms)
			}
		})
	}
}

// TestExactSum compares ExactSum and ExactDot, of float64 and float32, with math/big.
func TestExactSum(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		size := rapid.IntRange(1, heavy.Or(9, 64)).Draw(rt, "ranks")
		n := rapid.SampledFrom([]int{0, 1, 2, 10, 500, 5000}).Draw(rt, "numbers")
		r := rand.New(rand.NewPCG(rapid.Uint64().Draw(rt, "seed"), 0))
		xs := drawVector(r, n)
		var products []float64 // each as three terms
		var all32 schedgen.Exact
		parts := divided(r, xs, size)
		for _, x := range slices.Concat(parts...) {
			products = append(products, x, x, x)
			all32.Add(float64(float32(x)))
		}
		want, want3 := roundedSum(xs), roundedSum(products)
		comms := group(rt, size, schedgen.Config{})
		require.NoError(rt, each(comms, func(c *schedgen.Comm) error {
			own := parts[c.Rank()]
			threes, small := make([]float64, len(own)), make([]float32, len(own))
			for i, x := range own {
				threes[i], small[i] = 3, float32(x)
			}
			sum, err := schedgen.ExactSum(t.Context(), c, own)
			dot, err2 := schedgen.ExactDot(t.Context(), c, own, threes)
			s32, err3 := schedgen.ExactSum(t.Context(), c, small)
			ones := slices.Repeat([]celsius{1}, len(own))
			degrees := make([]celsius, len(own))
			for i, x := range own {
				degrees[i] = celsius(x)
			}
			named, err4 := schedgen.ExactDot(t.Context(), c, degrees, ones)
			if err := errors.Join(err, err2, err3, err4); err != nil {
				return err
			}
			if err := differ(c, []float64{sum, dot, float64(named)}, []float64{want, want3, want}); err != nil {
				return err
			}
			return differ(c, []float32{s32}, []float32{all32.Float32()})
		}))
		closeAll(rt, comms)
	})
}

// AllreduceExact rounds each sum of the ranks' elements once, for vectors of any length, in one
// collective or two.
func TestAllreduceExact(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		size := rapid.IntRange(1, heavy.Or(9, 64)).Draw(rt, "ranks")
		n := rapid.SampledFrom([]int{0, 1, 3, 100, 511, 2001, 6000}).Draw(rt, "elements")
		r := rand.New(rand.NewPCG(rapid.Uint64().Draw(rt, "seed"), 0))
		rows := make([][]float64, size)
		for rank := range rows {
			rows[rank] = drawVector(r, n)
		}
		want, want32 := make([]float64, n), make([]float32, n)
		for i := range n {
			var e, e32 schedgen.Exact
			for _, row := range rows {
				e.Add(row[i])
				e32.Add(float64(float32(row[i])))
			}
			want[i], want32[i] = e.Float64(), e32.Float32()
		}
		comms := group(rt, size, schedgen.Config{})
		require.NoError(rt, each(comms, func(c *schedgen.Comm) error {
			for range 2 {
				buf, small := slices.Clone(rows[c.Rank()]), make([]float32, n)
				for i, x := range buf {
					small[i] = float32(x)
				}
				if err := errors.Join(schedgen.AllreduceExact(t.Context(), c, buf), schedgen.AllreduceExact(t.Context(), c, small)); err != nil {
					return err
				}
				if err := errors.Join(differ(c, buf, want), differ(c, small, want32)); err != nil {
					return err
				}
			}
			return nil
		}))
		closeAll(rt, comms)
	})
}

func TestWrongExact(t *testing.T) {
	comms := group(t, 3, schedgen.Config{})
	c, ctx := comms[1], t.Context()
	var noContext context.Context
	second := func(_ float64, err error) error { return err }
	for _, one := range []struct {
		err  error
		want string
	}{
		{second(schedgen.ExactSum(ctx, nil, []float64{1})), "ExactSum: the communicator is nil"},
		{second(schedgen.ExactSum(noContext, c, []float64{1})), "ExactSum: rank 1 of 3: the context is nil"},
		{second(schedgen.ExactDot(noContext, c, []float64{1}, []float64{2})), "ExactDot: rank 1 of 3: the context is nil"},
		{second(schedgen.ExactDot(ctx, c, []float64{1}, []float64{1, 2})), "ExactDot: rank 1 of 3: x has 1 elements and y 2, want as many"},
		{schedgen.AllreduceExact(ctx, nil, []float32{1}), "AllreduceExact: the communicator is nil"},
		{schedgen.Allreduce(ctx, c, make([]schedgen.Exact, 1), schedgen.Prod), "Allreduce: rank 1 of 3: prod of schedgen.Exact: it is for numbers"},
	} {
		require.ErrorIs(t, one.err, schedgen.ErrInput)
		require.ErrorContains(t, one.err, one.want)
	}
	require.Panics(t, func() { new(schedgen.Exact).AddProducts([]float64{1}, nil) })
	closeAll(t, comms)
}

// Ranks whose vectors differ in length fail, all of them, whichever way the elements would go.
func TestAllreduceExactOfOtherLengths(t *testing.T) {
	for _, lengths := range [][2]int{{3, 4}, {10_000, 10_001}, {1000, 100_000}} {
		comms := group(t, 4, schedgen.Config{})
		errs := make([]error, 4)
		require.NoError(t, each(comms, func(c *schedgen.Comm) error {
			n := lengths[0]
			if c.Rank() == 2 {
				n = lengths[1]
			}
			errs[c.Rank()] = schedgen.AllreduceExact(t.Context(), c, make([]float64, n))
			return nil
		}))
		for _, err := range errs {
			require.ErrorIs(t, err, schedgen.ErrMismatch)
		}
		closeAll(t, comms)
	}
}

// BenchmarkExactSum calls exact and rounded functions in turn, and reports the median time of each
// exact one as a multiple of the rounded one's. It calls AllreduceExact with normally distributed
// numbers, with numbers whose sizes are spread over 40 decades, and with two ranks whose numbers
// are 20 decades greater and cancel out:
//
//	go test -run '^$' -bench ExactSum -benchtime 1x
func BenchmarkExactSum(b *testing.B) {
	const ranks = 4
	for _, n := range []int{1, 1 << 10, 1 << 17} {
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			var times [8][]time.Duration
			comms := group(b, ranks, schedgen.Config{})
			rounds := b.N * max(100, min(2000, 1<<21/n))
			require.NoError(b, each(comms, func(c *schedgen.Comm) error {
				ctx, r := b.Context(), rand.New(rand.NewPCG(1, uint64(c.Rank())))
				own, buf, sum := make([]float64, n), make([]float64, n), []float64{0}
				wide, cancel := make([]float64, n), make([]float64, n)
				for i := range own {
					own[i] = r.NormFloat64()
					wide[i] = math.Copysign(math.Pow(10, 40*r.Float64()), own[i])
					cancel[i] = own[i]
				}
				pair := rand.New(rand.NewPCG(4, 5)) // the same at all ranks
				for i := range cancel {
					x := pair.NormFloat64() * 1e20
					switch first := pair.IntN(ranks); c.Rank() {
					case first:
						cancel[i] = x
					case (first + 1) % ranks:
						cancel[i] = -x
					}
				}
				calls := [8]func() error{
					func() error {
						all := 0.0
						for _, x := range own {
							all += x
						}
						sum[0] = all
						return schedgen.Allreduce(ctx, c, sum, schedgen.Sum)
					},
					func() error { _, err := schedgen.ExactSum(ctx, c, own); return err },
					func() error {
						all := 0.0
						for i, x := range own {
							all += x * own[i]
						}
						sum[0] = all
						return schedgen.Allreduce(ctx, c, sum, schedgen.Sum)
					},
					func() error { _, err := schedgen.ExactDot(ctx, c, own, own); return err },
					func() error { return schedgen.Allreduce(ctx, c, buf, schedgen.Sum) },
					func() error { return schedgen.AllreduceExact(ctx, c, buf) },
					func() error { return schedgen.AllreduceExact(ctx, c, buf) },
					func() error { return schedgen.AllreduceExact(ctx, c, buf) },
				}
				inputs := [8][]float64{6: wide, 7: cancel}
				order := rand.New(rand.NewPCG(2, 3)) // the same at all ranks
				for range rounds {
					for _, i := range order.Perm(len(calls)) {
						copy(buf, own)
						copy(buf, inputs[i])
						if err := schedgen.Barrier(ctx, c); err != nil {
							return err
						}
						start := time.Now()
						if err := errors.Join(calls[i](), schedgen.Barrier(ctx, c)); err != nil {
							return err
						}
						if c.Rank() == 0 {
							times[i] = append(times[i], time.Since(start))
						}
					}
				}
				return nil
			}))
			closeAll(b, comms)
			median := func(i int) float64 {
				slices.Sort(times[i])
				return float64(times[i][len(times[i])/2])
			}
			for i, name := range []string{1: "ExactSum", 3: "ExactDot", 5: "AllreduceExact", 6: "AllreduceExact-40-decades", 7: "AllreduceExact-20-cancel"} {
				if name != "" {
					b.ReportMetric(median(i)/median(min(i-1, 4)), name+"/rounded")
				}
			}
		})
	}
}
