// Package fold combines two vectors of elements into one, as reductions do: each element of the
// result is a·b, of the elements at its place in the left vector and in the right one.
//
//	add, size, err := fold.For[float64](fold.Sum)
//	...
//	add(dst, a, b) // of bytes: dst may be a or b
//
// An Op says what · is, For finds the Kernel that does it to elements of some type, which may lie
// at any address. Elements are integers, floating-point and complex numbers, and bool, in the byte
// order of the machine, and types made of them; Func is for all others.
//
//	Sum, Prod        numbers
//	Min, Max         integers, floating-point numbers
//	And, Or, Xor     integers bit by bit; bool
//	LAnd, LOr, LXor  integers, of which all but 0 are true, as which the result is 1; bool
//	MinLoc, MaxLoc   Loc; of equal values the one with the lowest index
//
// The order of operands matters, be it only for the bits of a NaN. It is never changed: a is the
// left one, which in a reduction is that of the lower ranks.
//
// # Equal bits
//
// Ranks that fold the same operands in the same order get the same bits, whatever machine they run
// on, though one may have faster kernels than another.
//
// Integers wrap around. Sums and products of floating-point numbers are rounded to nearest, each by
// itself: no product is added to without being rounded. So are those in the product of complex
// numbers, (a.re·b.re - a.im·b.im) + (a.re·b.im + a.im·b.re)i. Denormal numbers count. If an
// operand is NaN so is the result: the left operand if that is NaN, else the right one, made quiet.
// What is NaN by itself, as ∞-∞ or 0·∞, is the quiet NaN with the sign set and no payload. As sums
// and products of floating-point numbers are rounded, their bits depend on which are folded first.
//
// Those of all else do not: the result is the same for any order and any brackets. Min and Max of
// floating-point numbers are minimum and maximum of IEEE 754-2019: -0 is less than +0, and a NaN
// prevails over numbers. Unlike there, a NaN is passed on as it is, even a signaling one; of two
// that with the greater bits, taken as a signed integer, prevails. So the result is always one of
// the operands, bit by bit. MinLoc and MaxLoc compare values in the same way.
//
// # Speed
//
// On amd64 with AVX2 all kernels but those of Loc and Func are assembly. In the cache of a core a
// sum then takes 1.2 times as long as copy does for as many bytes, a product of complex numbers 2.1
// times, and Min and Max of floating-point numbers, which look for NaNs, 3 times; a sum in Go takes
// 8 (float64) and 16 times (float32). Beyond all caches sums take some 1.5 times as long as copy,
// since memory carries three vectors where it is two for copy. A vector of 4 MiB or more that is
// apart from its operands is stored past the caches as copy does it, or it would be four. These are
// medians of 21 in turn with copy, on a machine that had other work as well; BenchmarkKernels has
// all.
package fold
