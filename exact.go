package schedgen

import (
	"context"
	"unsafe"

	"github.com/schedgen/schedgen/internal/fold"
	"github.com/schedgen/schedgen/internal/fold/exact"
)

// Exact is a sum of floating-point numbers, and of products of two of them, that is not rounded.
// Its Float64 depends only on the numbers that have been added. The zero Exact is the sum of no
// numbers.
//
// An Exact is an element of any collective. [Sum] adds Exacts in Reduce, Allreduce, ReduceScatter,
// Scan and Exscan, and in their Start functions. One call can carry several sums:
//
//	sums := make([]schedgen.Exact, 2)
//	sums[0].Add(masses...)
//	sums[1].AddProducts(masses, heights)
//	err := schedgen.Allreduce(ctx, comm, sums, schedgen.Sum)
//
// It has 544 bytes. Equal sums have equal bits, so == compares them. 2^91 numbers can be added.
//
// A zero sum is -0 if only -0 has been added, and otherwise +0. A sum is infinite if it exceeds the
// greatest number when it is rounded, or if infinities of one sign have been added. It is NaN, with
// the bits of math.NaN, if a NaN or infinities of both signs have been added.
type Exact struct {
	sum exact.Sum
}

// Add adds numbers. It is fastest for many numbers at a time. A float32 converts to float64 without
// rounding.
func (e *Exact) Add(numbers ...float64) { exact.Add(&e.sum, numbers) }

// AddProducts adds the products x[i]·y[i] without rounding them. It panics if x and y have
// different lengths.
func (e *Exact) AddProducts(x, y []float64) { exact.AddProducts(&e.sum, x, y) }

// AddExact adds the sum of other.
func (e *Exact) AddExact(other *Exact) { e.sum.AddSum(&other.sum) }

// Float64 returns the sum, rounded to the nearest float64. Of two that are equally near, it returns
// the even one.
func (e *Exact) Float64() float64 { return e.sum.Float64() }

// Float32 returns the sum, rounded to the nearest float32. It is rounded once, not to a float64
// first.
func (e *Exact) Float32() float32 { return e.sum.Float32() }

// ExactSum returns, at all ranks, the sum of the elements of x of all ranks, rounded once to the
// nearest T, and to the even one of two that are equally near. It depends only on the numbers: not
// on their order, the number of ranks, algorithms or transports. len(x) may differ among ranks and
// may be 0. See [Exact] for zeros, infinities and NaN.
func ExactSum[T ~float32 | ~float64](ctx context.Context, comm *Comm, x []T) (T, error) {
	if err := checkCall[T](ctx, comm, "ExactSum", 0); err != nil {
		return 0, err
	}
	own := make([]Exact, 1)
	exact.Add(&own[0].sum, x)
	return allreduceExact[T](ctx, comm, "ExactSum", exactSums, own)
}

// ExactDot returns, at all ranks, the sum of the products x[i]·y[i] of all ranks. The products are
// not rounded, and the sum is rounded once, as by [ExactSum]. x and y have the same length, which
// may differ among ranks.
func ExactDot[T ~float32 | ~float64](ctx context.Context, comm *Comm, x, y []T) (T, error) {
	if err := checkCall[T](ctx, comm, "ExactDot", 0); err != nil {
		return 0, err
	}
	if len(x) != len(y) {
		return 0, comm.wrong("ExactDot", "x has %d elements and y %d, want as many", len(x), len(y))
	}
	own := make([]Exact, 1)
	exact.AddProducts(&own[0].sum, x, y)
	return allreduceExact[T](ctx, comm, "ExactDot", exactDots, own)
}

// allreduceExact returns the rounded sum of one Exact of each rank. ops are the operations of fn for
// float32 and float64. They differ, so ranks notice that they call different functions or have
// different types.
func allreduceExact[T ~float32 | ~float64](ctx context.Context, comm *Comm, fn string, ops [2]Op, own []Exact) (T, error) {
	op := ops[0]
	if sizeOf[T]() == 8 {
		op = ops[1]
	}
	if err := inPlace(ctx, comm, fn, &allreduce, own, op, 0).do(); err != nil {
		return 0, err
	}
	return exact.Round[T](&own[0].sum), nil
}

// AllreduceExact adds up buf of all ranks, element by element, and puts the sums into buf at every
// rank. Each sum is rounded once, as by [ExactSum]. len(buf) is the same at all ranks.
//
// It moves as many bytes as an [Allreduce] of a long vector. Every rank gets all ranks' elements of
// one part of buf, adds them up, and sends the sums to all.
func AllreduceExact[T ~float32 | ~float64](ctx context.Context, comm *Comm, buf []T) error {
	const fn = "AllreduceExact"
	if err := checkCall[T](ctx, comm, fn, 0); err != nil {
		return err
	}
	n, size, rank := len(buf), comm.under.Size(), comm.under.Rank()
	if n*size*sizeOf[T]() <= allAtOnce {
		rows, kept := scratch[T](comm, n*size)
		if err := blocks(ctx, comm, fn, &allgather, rows, buf, 0).do(); err != nil {
			return err
		}
		exact.Rows(buf, rows)
		comm.keep(kept)
		return nil
	}
	counts, mine := make([]int, size), make([]int, size)
	for r := range size {
		counts[r] = n*(r+1)/size - n*r/size
		mine[r] = n*(rank+1)/size - n*rank/size
	}
	rows, kept := scratch[T](comm, size*mine[rank])
	if err := counted(ctx, comm, fn, &alltoall, rows, mine, buf, counts, 0).do(); err != nil {
		return err
	}
	own := buf[n*rank/size:][:mine[rank]]
	exact.Rows(own, rows)
	comm.keep(kept)
	return counted(ctx, comm, fn, &allgather, buf, counts, own, nil, 0).do()
}

// allAtOnce is the number of bytes of all ranks up to which one allgather of everything is faster
// than an alltoall and an allgather.
const allAtOnce = 32 << 10

// scratch returns memory for n elements, and the same memory for keep.
func scratch[T any](c *Comm, n int) (elements []T, memory []uint64) {
	c.folding.Lock()
	memory, c.scratch = c.scratch, nil
	c.folding.Unlock()
	if size := n * sizeOf[T](); 8*len(memory) < size {
		memory = make([]uint64, (size+7)/8)
	}
	return unsafe.Slice((*T)(unsafe.Pointer(unsafe.SliceData(memory))), n), memory
}

// keep keeps memory for the next call of scratch.
func (c *Comm) keep(memory []uint64) {
	c.folding.Lock()
	c.scratch = memory
	c.folding.Unlock()
}

// addExact is Sum for Exacts.
var addExact = fold.Func("exact sum", true, addExacts)

func addExacts(dst, src []Exact) {
	for i := range dst {
		dst[i].AddExact(&src[i])
	}
}

// The operations of ExactSum and ExactDot for float32 and float64. They do what addExact does.
var (
	exactSums = [2]Op{Func("ExactSum[float32]", true, addExacts), Func("ExactSum[float64]", true, addExacts)}
	exactDots = [2]Op{Func("ExactDot[float32]", true, addExacts), Func("ExactDot[float64]", true, addExacts)}
)
