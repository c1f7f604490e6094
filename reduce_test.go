package schedgen_test

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/schedgen/schedgen"
	"github.com/schedgen/schedgen/internal/test/heavy"
)

type (
	celsius float64
	flags   uint8

	// extent is an element that joinExtents folds.
	extent struct {
		Count    int32
		From, To int16
	}

	// affine is the function x → Scale·x + Shift. Its operation is composition, which does not
	// commute.
	affine struct{ Scale, Shift uint32 }
)

var (
	joinExtents = schedgen.Func("join extents", true, func(dst, src []extent) {
		for i, s := range src {
			d := &dst[i]
			*d = extent{d.Count + s.Count, min(d.From, s.From), max(d.To, s.To)}
		}
	})
	compose = schedgen.Func("compose", false, func(dst, src []affine) {
		for i, s := range src {
			d := &dst[i]
			*d = affine{d.Scale * s.Scale, s.Scale*d.Shift + s.Shift}
		}
	})
)

// foldCase has the contributions of a rank and the parameters of its calls.
type foldCase[T comparable] struct {
	ctx        context.Context
	c          *schedgen.Comm
	op         schedgen.Op
	root, n    int
	start, to  bool // whether to use the function's Start and To form
	value      func(rank, i int) T
	two        func(a, b T) T
	collective string // name in the texts of errors
}

// own returns n elements of a rank.
func (f *foldCase[T]) own(rank, n int) []T {
	all := make([]T, n)
	for i := range all {
		all[i] = f.value(rank, i)
	}
	return all
}

// folded returns elements from … from+n-1 of the first ranks. A plain loop folds them.
func (f *foldCase[T]) folded(ranks, from, n int) []T {
	all := make([]T, n)
	for i := range all {
		all[i] = f.value(0, from+i)
		for r := 1; r < ranks; r++ {
			all[i] = f.two(all[i], f.value(r, from+i))
		}
	}
	return all
}

// fill returns n elements that occur in no result.
func (f *foldCase[T]) fill(n int) []T { return slices.Repeat([]T{f.value(-3, 1)}, n) }

func (f *foldCase[T]) check(what string, got, want []T) error {
	if !slices.Equal(got, want) {
		return fmt.Errorf("%s at rank %d of %d, root %d, %d elements, start %t, to %t: %s: got\n%v, want\n%v", f.collective, f.c.Rank(), f.c.Size(), f.root, f.n, f.start, f.to, what, got, want)
	}
	return nil
}

func (f *foldCase[T]) wait(r *schedgen.Request, err error) error {
	if err != nil {
		return err
	}
	return r.Wait(f.ctx)
}

// oneBlock folds one block in place or to another, and checks the result. want is nil at a rank
// that gets no result.
func (f *foldCase[T]) oneBlock(want []T, inPlace func(buf []T) error, to func(dst, src []T) error) error {
	src := f.own(f.c.Rank(), f.n)
	if !f.to {
		if want == nil {
			want = f.own(f.c.Rank(), f.n)
		}
		return errors.Join(inPlace(src), f.check("buf", src, want))
	}
	dst := f.fill(f.n)
	if want == nil {
		want = f.fill(f.n)
	}
	return errors.Join(to(dst, src), f.check("dst", dst, want), f.check("src", src, f.own(f.c.Rank(), f.n)))
}

func (f *foldCase[T]) reduce() error {
	ctx, c, op, root := f.ctx, f.c, f.op, f.root
	var want []T
	if c.Rank() == root {
		want = f.folded(c.Size(), 0, f.n)
	}
	atRoot := func(dst []T) []T {
		if c.Rank() != root {
			return nil
		}
		return dst
	}
	if f.start {
		return f.oneBlock(want,
			func(buf []T) error { return f.wait(schedgen.StartReduce(ctx, c, buf, op, root)) },
			func(dst, src []T) error { return f.wait(schedgen.StartReduceTo(ctx, c, atRoot(dst), src, op, root)) })
	}
	return f.oneBlock(want,
		func(buf []T) error { return schedgen.Reduce(ctx, c, buf, op, root) },
		func(dst, src []T) error { return schedgen.ReduceTo(ctx, c, atRoot(dst), src, op, root) })
}

func (f *foldCase[T]) allreduce() error {
	ctx, c, op := f.ctx, f.c, f.op
	want := f.folded(c.Size(), 0, f.n)
	if f.start {
		return f.oneBlock(want,
			func(buf []T) error { return f.wait(schedgen.StartAllreduce(ctx, c, buf, op)) },
			func(dst, src []T) error { return f.wait(schedgen.StartAllreduceTo(ctx, c, dst, src, op)) })
	}
	return f.oneBlock(want,
		func(buf []T) error { return schedgen.Allreduce(ctx, c, buf, op) },
		func(dst, src []T) error { return schedgen.AllreduceTo(ctx, c, dst, src, op) })
}

func (f *foldCase[T]) reduceScatter() error {
	src, dst := f.own(f.c.Rank(), f.c.Size()*f.n), f.fill(f.n)
	var err error
	if f.start {
		err = f.wait(schedgen.StartReduceScatter(f.ctx, f.c, dst, src, f.op))
	} else {
		err = schedgen.ReduceScatter(f.ctx, f.c, dst, src, f.op)
	}
	return errors.Join(err,
		f.check("dst", dst, f.folded(f.c.Size(), f.c.Rank()*f.n, f.n)),
		f.check("src", src, f.own(f.c.Rank(), len(src))))
}

func (f *foldCase[T]) scan() error {
	ctx, c, op := f.ctx, f.c, f.op
	want := f.folded(c.Rank()+1, 0, f.n)
	if f.start {
		return f.oneBlock(want,
			func(buf []T) error { return f.wait(schedgen.StartScan(ctx, c, buf, op)) },
			func(dst, src []T) error { return f.wait(schedgen.StartScanTo(ctx, c, dst, src, op)) })
	}
	return f.oneBlock(want,
		func(buf []T) error { return schedgen.Scan(ctx, c, buf, op) },
		func(dst, src []T) error { return schedgen.ScanTo(ctx, c, dst, src, op) })
}

func (f *foldCase[T]) exscan() error {
	ctx, c, op := f.ctx, f.c, f.op
	var want []T
	if c.Rank() > 0 {
		want = f.folded(c.Rank(), 0, f.n)
	}
	if f.start {
		return f.oneBlock(want,
			func(buf []T) error { return f.wait(schedgen.StartExscan(ctx, c, buf, op)) },
			func(dst, src []T) error { return f.wait(schedgen.StartExscanTo(ctx, c, dst, src, op)) })
	}
	return f.oneBlock(want,
		func(buf []T) error { return schedgen.Exscan(ctx, c, buf, op) },
		func(dst, src []T) error { return schedgen.ExscanTo(ctx, c, dst, src, op) })
}

// all calls every collective that folds.
func (f *foldCase[T]) all() error {
	for _, one := range []struct {
		name string
		call func() error
	}{
		{"Allreduce", f.allreduce}, {"Reduce", f.reduce}, {"Scan", f.scan}, {"ReduceScatter", f.reduceScatter}, {"Exscan", f.exscan},
	} {
		f.collective = one.name
		if err := one.call(); err != nil {
			return err
		}
	}
	return nil
}

// testFolds calls every collective that folds, for any number of ranks, root and length. two folds
// two elements like op, and value returns element i of a rank.
func testFolds[T comparable](t *testing.T, op schedgen.Op, two func(a, b T) T, value func(rank, i int) T) {
	t.Run(fmt.Sprintf("%v of %T", op, value(0, 0)), func(t *testing.T) {
		rapid.Check(t, func(rt *rapid.T) {
			size := rapid.IntRange(1, 9).Draw(rt, "ranks")
			root := rapid.IntRange(0, size-1).Draw(rt, "root")
			n := rapid.SampledFrom([]int{0, 1, 2, 5, 100, 3000}).Draw(rt, "elements")
			start, to := rapid.Bool().Draw(rt, "start"), rapid.Bool().Draw(rt, "to")
			comms := group(rt, size, schedgen.Config{})
			require.NoError(rt, each(comms, func(c *schedgen.Comm) error {
				f := foldCase[T]{ctx: t.Context(), c: c, op: op, root: root, n: n, start: start, to: to, value: value, two: two}
				return f.all()
			}))
			closeAll(rt, comms)
		})
	})
}

// TestFolds checks that every operation on elements of every kind gives the same as a plain loop.
func TestFolds(t *testing.T) {
	odd := func(rank, i int) int { return rank*7 + i*3 + 1 }
	testFolds(t, schedgen.Sum, func(a, b int32) int32 { return a + b }, func(rank, i int) int32 { return math.MaxInt32/2 - int32(odd(rank, i)) })
	testFolds(t, schedgen.Sum, func(a, b celsius) celsius { return a + b }, func(rank, i int) celsius { return celsius(odd(rank, i)) / 64 })
	testFolds(t, schedgen.Prod, func(a, b complex64) complex64 { return a * b }, func(rank, i int) complex64 {
		return []complex64{1, -1, 1i, 1 + 1i}[odd(rank, i)&3]
	})
	testFolds(t, schedgen.Min, func(a, b float32) float32 { return min(a, b) }, func(rank, i int) float32 { return float32(odd(rank, i)%11) - 5.5 })
	testFolds(t, schedgen.Max, func(a, b uint16) uint16 { return max(a, b) }, func(rank, i int) uint16 { return uint16(odd(rank, i) * 9001) })
	testFolds(t, schedgen.And, func(a, b flags) flags { return a & b }, func(rank, i int) flags { return ^(1 << (odd(rank, i) & 7)) })
	testFolds(t, schedgen.Or, func(a, b bool) bool { return a || b }, func(rank, i int) bool { return odd(rank, i)%5 == 0 })
	testFolds(t, schedgen.Xor, func(a, b uint64) uint64 { return a ^ b }, func(rank, i int) uint64 { return uint64(odd(rank, i)) << 40 })
	testFolds(t, schedgen.LXor, func(a, b int8) int8 {
		if (a != 0) != (b != 0) {
			return 1
		}
		return 0
	}, func(rank, i int) int8 { return int8(odd(rank, i) & 1) })
	testFolds(t, schedgen.MinLoc, func(a, b schedgen.Loc[float64]) schedgen.Loc[float64] {
		if cmp.Or(cmp.Compare(a.Value, b.Value), cmp.Compare(a.Index, b.Index)) < 0 {
			return a
		}
		return b
	}, func(rank, i int) schedgen.Loc[float64] {
		return schedgen.Loc[float64]{Value: float64(odd(rank, i) % 4), Index: int64(rank)}
	})
	testFolds(t, schedgen.MaxLoc, func(a, b schedgen.Loc[int16]) schedgen.Loc[int16] {
		if cmp.Or(cmp.Compare(b.Value, a.Value), cmp.Compare(a.Index, b.Index)) < 0 {
			return a
		}
		return b
	}, func(rank, i int) schedgen.Loc[int16] {
		return schedgen.Loc[int16]{Value: int16(odd(rank, i) % 4), Index: int64(10 - rank)}
	})
	testFolds(t, joinExtents, func(a, b extent) extent {
		return extent{a.Count + b.Count, min(a.From, b.From), max(a.To, b.To)}
	}, func(rank, i int) extent {
		return extent{int32(rank), int16(odd(rank, i) % 50), int16(odd(rank, i) % 70)}
	})
}

// TestFoldsInTheOrderOfRanks checks that a function that does not commute gets contributions in the
// order of the ranks.
func TestFoldsInTheOrderOfRanks(t *testing.T) {
	testFolds(t, compose,
		func(a, b affine) affine { return affine{a.Scale * b.Scale, b.Scale*a.Shift + b.Shift} },
		func(rank, i int) affine { return affine{uint32(2*rank + 3), uint32(rank + i)} })
}

// TestAllRanksGetTheSameBits checks that all ranks get the same bits for any numbers, and get them
// again. Sums of floating-point numbers depend on the order.
func TestAllRanksGetTheSameBits(t *testing.T) {
	for _, size := range []int{2, 3, 5, 7, 8, 12} {
		comms := group(t, size, schedgen.Config{})
		got := make([][]float64, size)
		require.NoError(t, each(comms, func(c *schedgen.Comm) error {
			own := make([]float64, 1000)
			for i := range own {
				own[i] = math.Sin(float64(i+1)*float64(c.Rank()+1)) * math.Pow(10, float64((i*7+c.Rank()*5)%30-15))
			}
			if c.Rank() == 1 {
				own[3], own[4] = math.NaN(), math.Inf(1)
			}
			first, again := make([]float64, len(own)), make([]float64, len(own))
			if err := schedgen.AllreduceTo(t.Context(), c, first, own, schedgen.Sum); err != nil {
				return err
			}
			if err := schedgen.AllreduceTo(t.Context(), c, again, own, schedgen.Sum); err != nil {
				return err
			}
			if !slices.EqualFunc(first, again, sameBits) {
				return fmt.Errorf("rank %d: the second call gives other bits", c.Rank())
			}
			got[c.Rank()] = first
			return nil
		}))
		for rank := range got {
			require.True(t, slices.EqualFunc(got[0], got[rank], sameBits), "%d ranks: ranks 0 and %d", size, rank)
		}
		closeAll(t, comms)
	}
}

func sameBits(a, b float64) bool { return math.Float64bits(a) == math.Float64bits(b) }

// TestFoldsOverlap checks that requests that fold may overlap with each other and with others, and
// that a program may wait for them in any order.
func TestFoldsOverlap(t *testing.T) {
	comms := group(t, 5, schedgen.Config{})
	require.NoError(t, each(comms, func(c *schedgen.Comm) error {
		ctx := t.Context()
		var open []*schedgen.Request
		var starting []error
		start := func(r *schedgen.Request, err error) {
			open, starting = append(open, r), append(starting, err)
		}
		var sums, prefixes, before [6][]int
		var all [6][]int
		for i := range sums {
			own := []int{100*i + c.Rank(), 1}
			sums[i], prefixes[i], before[i], all[i] = slices.Clone(own), slices.Clone(own), slices.Clone(own), make([]int, 10)
			start(schedgen.StartAllreduce(ctx, c, sums[i], schedgen.Sum))
			start(schedgen.StartScan(ctx, c, prefixes[i], schedgen.Sum))
			start(schedgen.StartAllgather(ctx, c, all[i], own))
			start(schedgen.StartExscan(ctx, c, before[i], schedgen.Max))
		}
		if err := errors.Join(starting...); err != nil {
			return err
		}
		for _, r := range slices.Backward(open) {
			if err := r.Wait(ctx); err != nil {
				return err
			}
		}
		for i := range sums {
			sum, prefix, greatest := 0, 0, 100*i
			for r := range 5 {
				sum += 100*i + r
				if r <= c.Rank() {
					prefix += 100*i + r
				}
				if r < c.Rank() {
					greatest = 100*i + r
				}
			}
			if want := []int{sum, 5}; !slices.Equal(sums[i], want) {
				return fmt.Errorf("rank %d, sum %d: %v, want %v", c.Rank(), i, sums[i], want)
			}
			if want := []int{prefix, c.Rank() + 1}; !slices.Equal(prefixes[i], want) {
				return fmt.Errorf("rank %d, scan %d: %v, want %v", c.Rank(), i, prefixes[i], want)
			}
			if want := []int{greatest, 1}; !slices.Equal(before[i], want) {
				return fmt.Errorf("rank %d, exscan %d: %v, want %v", c.Rank(), i, before[i], want)
			}
			if all[i][8] != 100*i+4 {
				return fmt.Errorf("rank %d, allgather %d: %v", c.Rank(), i, all[i])
			}
		}
		return nil
	}))
	closeAll(t, comms)
}

// TestWarmFoldsDoNotAllocate checks that a warm communicator allocates nothing for a collective
// that folds.
func TestWarmFoldsDoNotAllocate(t *testing.T) {
	const size, n, warm, rounds = 4, 100, 300, 200
	comms := group(t, size, schedgen.Config{})
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	for _, one := range []struct {
		name string
		call func(c *schedgen.Comm, dst, src []float64, extents []extent) error
	}{
		{"Allreduce", func(c *schedgen.Comm, dst, _ []float64, _ []extent) error {
			return schedgen.Allreduce(ctx, c, dst, schedgen.Sum)
		}},
		{"AllreduceTo", func(c *schedgen.Comm, dst, src []float64, _ []extent) error {
			return schedgen.AllreduceTo(ctx, c, dst, src, schedgen.Max)
		}},
		{"Func", func(c *schedgen.Comm, _, _ []float64, extents []extent) error {
			return schedgen.Allreduce(ctx, c, extents, joinExtents)
		}},
		{"Reduce", func(c *schedgen.Comm, dst, _ []float64, _ []extent) error {
			return schedgen.Reduce(ctx, c, dst, schedgen.Sum, 1)
		}},
		{"ReduceScatter", func(c *schedgen.Comm, dst, src []float64, _ []extent) error {
			return schedgen.ReduceScatter(ctx, c, dst[:n/size], src, schedgen.Sum)
		}},
		{"Scan", func(c *schedgen.Comm, dst, _ []float64, _ []extent) error {
			return schedgen.Scan(ctx, c, dst, schedgen.Min)
		}},
		{"ExscanTo", func(c *schedgen.Comm, dst, src []float64, _ []extent) error {
			return schedgen.ExscanTo(ctx, c, dst, src, schedgen.Sum)
		}},
	} {
		t.Run(one.name, func(t *testing.T) {
			per := 0.0
			require.NoError(t, each(comms, func(c *schedgen.Comm) (err error) {
				dst, src, extents := make([]float64, n), make([]float64, n), make([]extent, n)
				call := func() {
					if err == nil {
						err = one.call(c, dst, src, extents)
					}
				}
				for range warm {
					call()
				}
				if err == nil {
					err = schedgen.Barrier(ctx, c)
				}
				if c.Rank() == 0 {
					per = testing.AllocsPerRun(rounds, call) // of all ranks
				} else {
					for range rounds + 1 { // AllocsPerRun calls once more
						call()
					}
				}
				return err
			}))
			if heavy.Race && one.name == "Func" {
				return // under the race detector a sync.Pool drops some of its values
			}
			require.Zero(t, per)
		})
	}
	closeAll(t, comms)
}

// TestWrongFolds checks that wrong arguments of collectives that fold are errors that describe each
// side, and that the communicator still works.
func TestWrongFolds(t *testing.T) {
	comms := group(t, 3, schedgen.Config{})
	ctx, c, first := t.Context(), comms[1], comms[0]
	six, sum := make([]int32, 6), schedgen.Sum
	nop := func(dst, src []int32) {}
	var noContext context.Context
	request := func(_ *schedgen.Request, err error) error { return err }
	for _, one := range []struct {
		err  error
		want string
	}{
		{schedgen.Allreduce(ctx, nil, six, sum), "Allreduce: the communicator is nil"},
		{request(schedgen.StartScan(ctx, nil, six, sum)), "StartScan: the communicator is nil"},
		{schedgen.Scan(noContext, c, six, sum), "Scan: rank 1 of 3: the context is nil"},
		{schedgen.Reduce(ctx, c, six, sum, 3), "Reduce: rank 1 of 3: root 3 outside 0 … 2"},
		{request(schedgen.StartReduceTo(ctx, c, nil, six, sum, -1)), "StartReduceTo: rank 1 of 3: root -1 outside 0 … 2"},
		{schedgen.Exscan(ctx, c, []string{"a"}, sum), "Exscan: rank 1 of 3: elements are string: only types without pointers can be moved"},
		{schedgen.Allreduce(ctx, c, []schedgen.Loc[string]{{}}, schedgen.MinLoc), "elements are schedgen.Loc[string], where .Value is string"},

		{schedgen.Allreduce(ctx, c, six, schedgen.Op{}), "Allreduce: rank 1 of 3: no operation is given"},
		{schedgen.Allreduce(ctx, c, []bool{true}, sum), "Allreduce: rank 1 of 3: sum of bool: bool has no sum; use or"},
		{schedgen.Allreduce(ctx, c, []particle{{}}, sum), "sum of schedgen_test.particle: it is for numbers; use Func for a struct"},
		{schedgen.Allreduce(ctx, c, [][2]int{{}}, schedgen.And), "and of [2]int: it is for integers and bool; use Func for an array"},
		{schedgen.Allreduce(ctx, c, []celsius{1}, schedgen.Xor), "xor of schedgen_test.celsius: it is for integers and bool, not for float64"},
		{schedgen.Allreduce(ctx, c, []complex128{1}, schedgen.Max), "max of complex128: complex128 has no order"},
		{schedgen.Allreduce(ctx, c, six, schedgen.MinLoc), "minloc of int32: it is for Loc, a value and its index"},
		{schedgen.Allreduce(ctx, c, []schedgen.Loc[complex64]{{}}, schedgen.MaxLoc), "maxloc of schedgen.Loc[complex64]: it is for Loc"},
		{schedgen.Allreduce(ctx, c, six, compose), "compose of int32: it is a function on schedgen_test.affine"},
		{schedgen.Allreduce(ctx, c, six, schedgen.Func("", true, nop)), "a function on int32 has no name"},
		{schedgen.Allreduce(ctx, c, six, schedgen.Func("sum", true, nop)), "a function on int32 is named sum, like an operation"},
		{schedgen.Allreduce(ctx, c, six, schedgen.Func[int32]("nothing", true, nil)), "nothing of int32: the function is nil"},

		{schedgen.ReduceTo(ctx, c, six, six, sum, 0), "ReduceTo: rank 1 of 3: dst has 6 elements, want none: only the root, rank 0, gets the result"},
		{schedgen.ReduceTo(ctx, c, six[:5], make([]int32, 6), sum, 1), "ReduceTo: rank 1 of 3: dst has 5 elements and src 6, want as many in dst"},
		{schedgen.AllreduceTo(ctx, c, six, make([]int32, 7), sum), "AllreduceTo: rank 1 of 3: dst has 6 elements and src 7, want as many in dst"},
		{schedgen.AllreduceTo(ctx, c, nil, six, sum), "AllreduceTo: rank 1 of 3: dst has 0 elements and src 6, want as many in dst"},
		{request(schedgen.StartScanTo(ctx, c, six, six[:2], sum)), "StartScanTo: rank 1 of 3: dst has 6 elements and src 2, want as many in dst"},
		{schedgen.ExscanTo(ctx, first, nil, six, sum), "ExscanTo: rank 0 of 3: dst has 0 elements and src 6, want as many in dst"},
		{schedgen.ReduceScatter(ctx, c, make([]int32, 2), make([]int32, 7), sum), "ReduceScatter: rank 1 of 3: src has 7 elements and dst 2, want 6 in src: one block of dst's length for each of 3 ranks"},
		{request(schedgen.StartReduceScatter(ctx, c, nil, six, sum)), "StartReduceScatter: rank 1 of 3: src has 6 elements and dst 0, want 0 in src"},
		{schedgen.ReduceScatter(ctx, c, six[2:4], six, sum), "ReduceScatter: rank 1 of 3: dst, of 2 elements, and src, of 6, overlap"},
		{schedgen.AllreduceTo(ctx, c, six[:4], six[2:], sum), "AllreduceTo: rank 1 of 3: dst, of 4 elements, and src, of 4, overlap"},
		{schedgen.ExscanTo(ctx, first, six[:4], six[2:], sum), "ExscanTo: rank 0 of 3: dst, of 4 elements, and src, of 4, overlap"},
	} {
		require.ErrorIs(t, one.err, schedgen.ErrInput)
		require.ErrorContains(t, one.err, one.want)
	}
	require.Equal(t, "no operation", schedgen.Op{}.String())
	require.Equal(t, "minloc, compose", fmt.Sprintf("%v, %v", schedgen.MinLoc, compose))
	require.NoError(t, each(comms, func(c *schedgen.Comm) error {
		all := []int32{1, 2}
		err := schedgen.AllreduceTo(ctx, c, all, all, schedgen.Sum) // dst is src
		if err == nil && !slices.Equal(all, []int32{3, 6}) {
			err = fmt.Errorf("rank %d has %v", c.Rank(), all)
		}
		return err
	}))
	closeAll(t, comms)
}

// TestFoldsThatDiffer checks that all ranks fail if they fold different things, and that the error
// quotes both sides.
func TestFoldsThatDiffer(t *testing.T) {
	for _, one := range []struct {
		name  string
		call  func(ctx context.Context, c *schedgen.Comm, odd bool) error
		words []string
	}{
		{"operations", func(ctx context.Context, c *schedgen.Comm, odd bool) error {
			op := schedgen.Sum
			if odd {
				op = schedgen.Max
			}
			return schedgen.Allreduce(ctx, c, make([]int64, 4), op)
		}, []string{"sum of int64", "max of int64"}},
		{"types", func(ctx context.Context, c *schedgen.Comm, odd bool) error {
			if odd {
				return schedgen.Allreduce(ctx, c, make([]float64, 4), schedgen.Sum)
			}
			return schedgen.Allreduce(ctx, c, make([]int64, 4), schedgen.Sum)
		}, []string{"sum of int64", "sum of float64"}},
		{"functions", func(ctx context.Context, c *schedgen.Comm, odd bool) error {
			if odd {
				return schedgen.Allreduce(ctx, c, make([]extent, 1), joinExtents)
			}
			return schedgen.Allreduce(ctx, c, make([]affine, 1), compose)
		}, []string{"compose of schedgen_test.affine", "join extents of schedgen_test.extent"}},
		{"lengths", func(ctx context.Context, c *schedgen.Comm, odd bool) error {
			n := 4
			if odd {
				n = 6
			}
			return schedgen.Allreduce(ctx, c, make([]int64, n), schedgen.Sum)
		}, []string{"32 bytes", "48 bytes"}},
		{"collectives", func(ctx context.Context, c *schedgen.Comm, odd bool) error {
			if odd {
				return schedgen.Allgather(ctx, c, make([]int64, 3), make([]int64, 1))
			}
			return schedgen.Allreduce(ctx, c, make([]int64, 1), schedgen.Sum)
		}, []string{"allreduce", "allgather"}},
		{"scans", func(ctx context.Context, c *schedgen.Comm, odd bool) error {
			if odd {
				return schedgen.Exscan(ctx, c, make([]int64, 1), schedgen.Sum)
			}
			return schedgen.Scan(ctx, c, make([]int64, 1), schedgen.Sum)
		}, []string{"scan", "exscan"}},
		{"roots", func(ctx context.Context, c *schedgen.Comm, odd bool) error {
			root := 0
			if odd {
				root = 2
			}
			return schedgen.Reduce(ctx, c, make([]int64, 4), schedgen.Sum, root)
		}, []string{"root 0", "root 2"}},
		{"exact functions", func(ctx context.Context, c *schedgen.Comm, odd bool) (err error) {
			if odd {
				_, err = schedgen.ExactDot(ctx, c, []float64{1}, []float64{2})
			} else {
				_, err = schedgen.ExactSum(ctx, c, []float64{1})
			}
			return err
		}, []string{"ExactSum[float64]", "ExactDot[float64]"}},
		{"exact types", func(ctx context.Context, c *schedgen.Comm, odd bool) (err error) {
			if odd {
				_, err = schedgen.ExactSum(ctx, c, []float32{1})
			} else {
				_, err = schedgen.ExactSum(ctx, c, []float64{1})
			}
			return err
		}, []string{"ExactSum[float32]", "ExactSum[float64]"}},
		{"an exact function and a fold", func(ctx context.Context, c *schedgen.Comm, odd bool) (err error) {
			if odd {
				return schedgen.Allreduce(ctx, c, make([]schedgen.Exact, 1), schedgen.Sum)
			}
			_, err = schedgen.ExactSum(ctx, c, []float64{1})
			return err
		}, []string{"ExactSum[float64]", "exact sum of schedgen.Exact"}},
		{"blocks", func(ctx context.Context, c *schedgen.Comm, odd bool) error {
			n := 1
			if odd {
				n = 2
			}
			return schedgen.ReduceScatter(ctx, c, make([]float64, n), make([]float64, 3*n), schedgen.Sum)
		}, []string{"8 bytes", "16 bytes"}},
	} {
		t.Run(one.name, func(t *testing.T) {
			cfg := schedgen.Config{Stall: 20 * time.Millisecond}
			for odd := range 3 {
				comms := group(t, 3, cfg)
				errs := make([]error, 3)
				require.NoError(t, each(comms, func(c *schedgen.Comm) error {
					if errs[c.Rank()] = one.call(t.Context(), c, c.Rank() == odd); errs[c.Rank()] == nil {
						errs[c.Rank()] = schedgen.Barrier(t.Context(), c)
					}
					return nil
				}))
				for rank, err := range errs {
					require.ErrorIs(t, err, schedgen.ErrMismatch, "rank %d, odd rank %d", rank, odd)
					for _, words := range one.words {
						require.ErrorContains(t, err, words, "rank %d, odd rank %d", rank, odd)
					}
				}
				for _, c := range comms {
					c.Close()
				}
			}
		})
	}
}

// TestRefusedFoldIsTold checks that a rank that makes no other call after a refused one fails all
// ranks, with the words of the refusal.
func TestRefusedFoldIsTold(t *testing.T) {
	comms := group(t, 2, schedgen.Config{Stall: 20 * time.Millisecond})
	errs := make([]error, 2)
	require.NoError(t, each(comms, func(c *schedgen.Comm) error {
		op := schedgen.Sum
		if c.Rank() == 1 {
			op = schedgen.And
		}
		errs[c.Rank()] = schedgen.Allreduce(t.Context(), c, []float64{1}, op)
		return nil
	}))
	require.ErrorIs(t, errs[1], schedgen.ErrInput)
	require.ErrorIs(t, errs[0], schedgen.ErrMismatch)
	require.ErrorContains(t, errs[0], "Allreduce: and of float64: it is for integers and bool, not for float64")
	for _, c := range comms {
		c.Close()
	}
}

// TestReduceScatterv checks a ReduceScatterv with blocks of different lengths.
func TestReduceScatterv(t *testing.T) {
	for size := 1; size <= 5; size++ {
		ranks(t, size, func(c *schedgen.Comm) error {
			counts, all, at := make([]int, size), 0, 0
			for r := range counts {
				counts[r] = r % 3
				if r < c.Rank() {
					at += counts[r]
				}
				all += counts[r]
			}
			src := make([]int32, all)
			for i := range src {
				src[i] = int32(i * (c.Rank() + 1))
			}
			dst := make([]int32, counts[c.Rank()])
			if err := schedgen.ReduceScatterv(t.Context(), c, dst, src, counts, schedgen.Sum); err != nil {
				return err
			}
			for i, got := range dst {
				if want := int32((at + i) * size * (size + 1) / 2); got != want {
					return fmt.Errorf("rank %d of %d: element %d is %d, want %d", c.Rank(), size, i, got, want)
				}
			}
			r, err := schedgen.StartReduceScatterv(t.Context(), c, dst, src, counts, schedgen.Max)
			if err != nil {
				return err
			}
			if err := r.Wait(t.Context()); err != nil {
				return err
			}
			err = schedgen.ReduceScatterv(t.Context(), c, dst, src, counts[:size-1], schedgen.Sum)
			if err == nil || !errors.Is(err, schedgen.ErrInput) {
				return fmt.Errorf("too few counts: %w", err)
			}
			return nil
		})
	}
}
