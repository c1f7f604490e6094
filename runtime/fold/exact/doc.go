// Package exact adds floating-point numbers without rounding. A sum is rounded once, at the end, to
// the nearest number, so it depends on nothing but which numbers have been added: not on their order,
// nor on how they were divided among several sums.
//
//	var s exact.Sum
//	exact.Add(&s, []float64{1e100, 1, -1e100})
//	s.Float64() // 1
//
// A Sum is a superaccumulator: an integer so wide that every product of two float64 and every sum of
// 2^91 of them is a multiple of its lowest bit and fits. Equal sums have equal bits. So Sums can be
// added in any order and in any tree, and travel between ranks as they lie in memory.
//
// # How it is done
//
// R. M. Neal, Fast exact summation using small and large superaccumulators (2015), adds each number to
// one of 4096 bins, chosen by its sign and exponent, and adds the bins to a smaller accumulator when
// one of them may overflow. Add does so with bins of 128 bits, which 2^32 numbers cannot overflow: the
// loop over the numbers has no branch. Numbers go to two tables in turn, since an addition to a bin
// must wait for the one before it. Products have such tables too, by sign and sum of the exponents.
//
// On amd64 with AVX2 and FMA, blocks of numbers go another way, which is faster. Eight lanes each have
// a sum of three parts, or of four for products: D. E. Knuth's TwoSum gives the error of each addition
// to a part, and the error is added to the next part. Three parts have 159 bits. If the last part has no
// error, as is usual, the parts are the sum, and are added to the accumulator. Otherwise the block goes
// to the bins.
//
// Neal's smaller accumulator has 67 chunks of 64 bits that overlap by half, so that carries are seldom
// passed on. Here most numbers come by way of the bins, and few additions are left for the
// accumulator. So it is a plain integer in two's complement, 67 words of 64 bits, with twice the range:
// also products of the smallest and of the greatest numbers are exact. It is in canonical form after
// each addition.
//
// Rows is for many short sums, one for each element of a vector. There the error of each addition is
// computed too, by TwoSum, and added up by itself, and so are the errors of that sum. What
// is then still lost is bounded. If all numbers within the bound round to the same, that is the result.
// Otherwise a Sum is used: where the sum is less than some 2^-100 of the numbers, or halfway between two
// others but for less than that. On amd64 with AVX2 all this is assembly.
//
// # Zeros, infinities, NaN
//
// The sum of no numbers is +0. A sum that is zero is -0 if all that was added is -0, and otherwise +0,
// as in IEEE 754. A sum that is beyond the greatest number when rounded is an infinity; how great sums
// are before the last number is added does not matter. The sum of +Inf and any finite numbers is +Inf.
// If a NaN is added, or infinities of both signs, the sum is NaN with the bits of math.NaN.
package exact
