// Package exact adds floating-point numbers without rounding. A sum is rounded once, at the end, to
// the nearest number. So it depends only on the numbers that have been added, not on their order or
// on how they were divided among several sums.
//
//	var s exact.Sum
//	exact.Add(&s, []float64{1e100, 1, -1e100})
//	s.Float64() // 1
//
// A Sum is a superaccumulator: an integer that is wide enough for every product of two float64 and
// every sum of 2^91 such products. Each of them is a multiple of its lowest bit. Equal sums have
// equal bits. So Sums can be added in any order and in any tree, and ranks can send them as they
// lie in memory.
//
// # How it is done
//
// R. M. Neal, Fast exact summation using small and large superaccumulators (2015), adds each number
// to one of 4096 bins, chosen by its sign and exponent, and adds the bins to a smaller accumulator
// when one of them may overflow. Add does the same with bins of 128 bits. Fewer than 2^32 numbers
// cannot overflow such a bin, and bins are emptied after at most 2^30, so the loop over the numbers
// has no branch. Numbers go to two tables in turn, since an addition to a bin must wait for the
// previous addition to that bin. Products have such tables too, by sign and sum of the exponents.
//
// On amd64 with AVX2 and FMA, blocks of numbers take a faster way. Each of eight lanes has a sum of
// three parts, or of four for products. D. E. Knuth's TwoSum gives the error of each addition to a
// part, and that error is added to the next part. Three parts have 159 bits. Usually the last part
// has no error. Then the parts are the sum and are added to the accumulator. Otherwise the block
// goes to the bins.
//
// Neal's smaller accumulator has 67 chunks of 64 bits that overlap by half, so that carries are
// seldom passed on. Here most numbers go through the bins, and few additions reach the accumulator.
// So it is a plain integer in two's complement, 67 words of 64 bits. It has twice the range, and
// products of the smallest and of the greatest numbers are exact too. It is in canonical form after
// each addition.
//
// Rows computes many short sums, one for each element of a vector. TwoSum gives the error of each
// addition. Rows adds up these errors, and the errors of that sum, and bounds the rest. If all
// numbers within the bound round to the same number, that is the result. Otherwise Rows uses a Sum.
// This happens if the sum is less than some 2^-100 of the numbers, or closer than that to the
// middle between two floats. On amd64 with AVX2 all this is assembly.
//
// # Zeros, infinities, NaN
//
// The sum of no numbers is +0. A zero sum is -0 if all numbers were -0, and otherwise +0, as in
// IEEE 754. A sum that exceeds the greatest number when it is rounded is an infinity. Intermediate
// sums may exceed it. The sum of +Inf and any finite numbers is +Inf. If a NaN is added, or
// infinities of both signs, the sum is NaN with the bits of math.NaN.
package exact
