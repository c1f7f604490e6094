// Package fold combines two vectors of elements into one, as reductions do. Each element of the
// result is a·b, where a and b are the elements at the same index in the left and in the right
// vector.
//
//	add, size, err := fold.For[float64](fold.Sum)
//	...
//	add(dst, a, b) // of bytes: dst may be a or b
//
// An Op defines the operation ·. For returns the Kernel that performs it on elements of some type,
// at any address. Elements are integers, floating-point numbers, complex numbers and bools, in the
// byte order of the machine, and types with one of these as their underlying type. Func is for all
// other types.
//
//	Sum, Prod        numbers
//	Min, Max         integers, floating-point numbers
//	And, Or, Xor     integers bit by bit; bool
//	LAnd, LOr, LXor  integers: all values but 0 are true, and a true result is 1; bool
//	MinLoc, MaxLoc   Loc; of equal values the one with the lowest index
//
// The order of the operands matters, if only for the bits of a NaN. A kernel never swaps them: a is
// the left operand, which in a reduction belongs to the lower ranks.
//
// # Equal bits
//
// Ranks that fold the same operands in the same order get the same bits on every machine, even
// though some machines have faster kernels than others.
//
// Integers wrap around. Each sum and each product of floating-point numbers is rounded to nearest;
// no product is added without being rounded first. The same holds for the sums and products in the
// product of complex numbers, (a.re·b.re - a.im·b.im) + (a.re·b.im + a.im·b.re)i. Denormal numbers
// are not flushed to zero. If an operand is NaN, the result is that NaN, made quiet: the left
// operand if that is NaN, otherwise the right one. An invalid operation, such as ∞-∞ or 0·∞,
// returns the quiet NaN with the sign set and no payload. Because sums and products of
// floating-point numbers are rounded, their bits depend on the order of folding.
//
// All other results are the same for any order and any brackets. Min and Max of floating-point
// numbers are minimum and maximum of IEEE 754-2019: -0 is less than +0, and a NaN prevails over
// numbers. Unlike in that standard, a NaN is returned unchanged, even a signaling one. Of two NaNs,
// the one with the greater bits as a signed integer prevails. So the result is always one of the
// operands, bit by bit. MinLoc and MaxLoc compare values in the same way.
//
// # Speed
//
// On amd64 with AVX2, all kernels except those of Loc and Func are in assembly. In the cache of a
// core, a sum then takes 1.2 times as long as copy for the same number of bytes, a product of
// complex numbers 2.1 times, and Min and Max of floating-point numbers, which check for NaNs, 3
// times. A sum in Go takes 8 times (float64) and 16 times (float32) as long as copy. Beyond all
// caches, a sum takes about 1.5 times as long as copy, because memory moves three vectors instead
// of two. A result of 4 MiB or more that is separate from its operands bypasses the caches, as in
// copy; otherwise memory would move four vectors. These are medians of 21 runs that alternated with
// copy, on a machine that also had other work. BenchmarkKernels measures all kernels.
package fold
