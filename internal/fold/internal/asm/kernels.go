package main

import (
	"fmt"

	. "github.com/mmcloughlin/avo/build"
	. "github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

// kernels returns all functions of the assembly.
func kernels() (all []kernel) {
	add := func(name string, element, unroll int, consts []uint64, do body) {
		all = append(all, kernel{name, element, unroll, consts, do})
	}
	addFloats(add)
	for _, size := range []int{1, 2, 4, 8} {
		add(fmt.Sprintf("sumInt%d", 8*size), size, 4, nil, direct(sums[size]))
	}
	for _, size := range []int{1, 2, 4, 8} {
		p := products[size]
		add(fmt.Sprintf("prodInt%d", 8*size), size, 2, p.consts, p.body)
	}
	for _, size := range []int{1, 2, 4} {
		m := bounds[size]
		add(fmt.Sprintf("minInt%d", 8*size), size, 4, nil, direct(m.minSigned))
		add(fmt.Sprintf("maxInt%d", 8*size), size, 4, nil, direct(m.maxSigned))
		add(fmt.Sprintf("minUint%d", 8*size), size, 4, nil, direct(m.minUnsigned))
		add(fmt.Sprintf("maxUint%d", 8*size), size, 4, nil, direct(m.maxUnsigned))
	}
	add("minInt64", 8, 2, nil, lesserInt64)
	add("maxInt64", 8, 2, nil, greaterInt64)
	add("minUint64", 8, 2, []uint64{1 << 63}, lesserUint64)
	add("maxUint64", 8, 2, []uint64{1 << 63}, greaterUint64)
	add("andBits", 1, 4, nil, direct(fixed(VPAND)))
	add("orBits", 1, 4, nil, direct(fixed(VPOR)))
	add("xorBits", 1, 4, nil, direct(fixed(VPXOR)))
	for _, size := range []int{1, 2, 4, 8} {
		one, equal := []uint64{ones[size]}, equals[size]
		add(fmt.Sprintf("logicalAnd%d", 8*size), size, 2, one, logical(equal, VPOR, VPANDN))
		add(fmt.Sprintf("logicalOr%d", 8*size), size, 2, one, logical(equal, VPAND, VPANDN))
		add(fmt.Sprintf("logicalXor%d", 8*size), size, 2, one, logical(equal, VPXOR, VPAND))
	}
	return all
}

func addFloats(add func(name string, element, unroll int, consts []uint64, do body)) {
	// The sign bit, repeated throughout a register, is also the least signed integer.
	const signs32, signs64 = 1<<63 | 1<<31, 1 << 63
	add("sumFloat32", 4, 4, nil, direct(VADDPS))
	add("sumFloat64", 8, 4, nil, direct(VADDPD))
	add("prodFloat32", 4, 4, nil, direct(VMULPS))
	add("prodFloat64", 8, 4, nil, direct(VMULPD))
	add("prodComplex64", 8, 2, nil, prodComplex64)
	add("prodComplex128", 16, 2, nil, prodComplex128)
	add("minFloat32", 4, 2, []uint64{signs32}, float32s.bound(VMINPS, VORPS))
	add("maxFloat32", 4, 2, []uint64{signs32}, float32s.bound(VMAXPS, VANDPS))
	add("minFloat64", 8, 2, []uint64{signs64}, float64s.bound(VMINPD, VORPD))
	add("maxFloat64", 8, 2, []uint64{signs64}, float64s.bound(VMAXPD, VANDPD))
}

// An instruction takes its operands in the order of Go's assembler: right operand, left operand,
// destination.
type instruction func(operands ...Op)

// fixed adapts an instruction for which avo has a fixed number of operands.
func fixed(do func(right, left, d Op)) instruction {
	return func(o ...Op) { do(o[0], o[1], o[2]) }
}

// direct is the body of an operation that is one instruction. If both operands are NaN, the
// processor returns the left one, its first.
func direct(do instruction) body {
	return func(d, a, b reg.VecVirtual, _ []reg.VecVirtual) { do(b, a, d) }
}

// Instructions by the bytes of an element.
var (
	sums   = map[int]instruction{1: VPADDB, 2: VPADDW, 4: VPADDD, 8: VPADDQ}
	equals = map[int]instruction{1: VPCMPEQB, 2: VPCMPEQW, 4: VPCMPEQD, 8: VPCMPEQQ}
	bounds = map[int]struct{ minSigned, maxSigned, minUnsigned, maxUnsigned instruction }{
		1: {VPMINSB, VPMAXSB, VPMINUB, VPMAXUB},
		2: {VPMINSW, VPMAXSW, VPMINUW, VPMAXUW},
		4: {VPMINSD, VPMAXSD, VPMINUD, VPMAXUD},
	}
	ones = map[int]uint64{1: 0x0101010101010101, 2: 0x0001000100010001, 4: 0x0000000100000001, 8: 1}
)

var products = map[int]struct {
	consts []uint64
	body   body
}{
	1: {[]uint64{0x00ff00ff00ff00ff}, prodInt8},
	2: {nil, direct(VPMULLW)},
	4: {nil, direct(VPMULLD)},
	8: {nil, prodInt64},
}

// prodInt8 multiplies even and odd bytes separately, in elements of two bytes.
func prodInt8(d, a, b reg.VecVirtual, constants []reg.VecVirtual) {
	even, odd, other := vector(d), vector(d), vector(d)
	VPMULLW(b, a, even)
	VPAND(constants[0], even, even)
	VPSRLW(Imm(8), a, odd)
	VPSRLW(Imm(8), b, other)
	VPMULLW(other, odd, odd)
	VPSLLW(Imm(8), odd, odd)
	VPOR(even, odd, d)
}

// prodInt64 multiplies the low halves, and adds both products of a low half and a high half to the
// high half.
func prodInt64(d, a, b reg.VecVirtual, _ []reg.VecVirtual) {
	low, high, other := vector(d), vector(d), vector(d)
	VPMULUDQ(b, a, low)
	VPSRLQ(Imm(32), a, high)
	VPMULUDQ(b, high, high)
	VPSRLQ(Imm(32), b, other)
	VPMULUDQ(other, a, other)
	VPADDQ(other, high, high)
	VPSLLQ(Imm(32), high, high)
	VPADDQ(high, low, d)
}

func lesserInt64(d, a, b reg.VecVirtual, _ []reg.VecVirtual) {
	greater := vector(d)
	VPCMPGTQ(b, a, greater)
	VPBLENDVB(greater, b, a, d)
}

func greaterInt64(d, a, b reg.VecVirtual, _ []reg.VecVirtual) {
	greater := vector(d)
	VPCMPGTQ(b, a, greater)
	VPBLENDVB(greater, a, b, d)
}

func lesserUint64(d, a, b reg.VecVirtual, constants []reg.VecVirtual) {
	VPBLENDVB(above(a, b, constants[0]), b, a, d)
}

func greaterUint64(d, a, b reg.VecVirtual, constants []reg.VecVirtual) {
	VPBLENDVB(above(a, b, constants[0]), a, b, d)
}

// above compares unsigned integers, a > b, by a comparison of signed ones.
func above(a, b, sign reg.VecVirtual) reg.VecVirtual {
	x, y := vector(a), vector(a)
	VPXOR(sign, a, x)
	VPXOR(sign, b, y)
	VPCMPGTQ(y, x, x)
	return x
}

// logical combines the masks of zero elements of a and b. finish makes ones of the result; VPANDN
// negates the mask.
func logical(equal instruction, combine, finish func(right, left, d Op)) body {
	return func(d, a, b reg.VecVirtual, constants []reg.VecVirtual) {
		zero, x, y := vector(d), vector(d), vector(d)
		VPXOR(zero, zero, zero)
		equal(zero, a, x)
		equal(zero, b, y)
		combine(y, x, x)
		finish(constants[0], x, d)
	}
}

// prodComplex64 computes a.re·b.re - a.im·b.im and a.re·b.im + a.im·b.re.
func prodComplex64(d, a, b reg.VecVirtual, _ []reg.VecVirtual) {
	re, im, swapped := vector(d), vector(d), vector(d)
	VMOVSLDUP(a, re)
	VMOVSHDUP(a, im)
	VPERMILPS(Imm(0xb1), b, swapped)
	VMULPS(b, re, re)
	VMULPS(swapped, im, im)
	VADDSUBPS(im, re, d)
}

func prodComplex128(d, a, b reg.VecVirtual, _ []reg.VecVirtual) {
	re, im, swapped := vector(d), vector(d), vector(d)
	VMOVDDUP(a, re)
	VPERMILPD(Imm(0xf), a, im)
	VPERMILPD(Imm(0x5), b, swapped)
	VMULPD(b, re, re)
	VMULPD(swapped, im, im)
	VADDSUBPD(im, re, d)
}

// floats are the instructions for one type.
type floats struct {
	compare instruction // the first operand is the kind of comparison
	greater instruction // of signed integers
	blend   func(mask, set, unset, d Op)
	or      instruction
}

var (
	float32s = floats{VCMPPS, VPCMPGTD, VBLENDVPS, VORPS}
	float64s = floats{VCMPPD, VPCMPGTQ, VBLENDVPD, VORPD}
)

// bound is the body of Min or Max. The instruction returns its second operand if both are equal or
// one is NaN. So both orders of operands give the same result, except for zeros of unlike signs and
// NaNs. combine chooses the zero. Of NaNs, bound takes the one with the greater bits; a number
// counts as the least integer there, so it is never taken.
func (f floats) bound(do, combine instruction) body {
	const unordered = 3
	return func(d, a, b reg.VecVirtual, constants []reg.VecVirtual) {
		least, number, other := constants[0], vector(d), vector(d)
		do(b, a, number)
		do(a, b, other)
		combine(other, number, number)

		aNaN, bNaN := vector(d), vector(d)
		f.compare(Imm(unordered), a, a, aNaN)
		f.compare(Imm(unordered), b, b, bNaN)
		x, y, greater := vector(d), vector(d), vector(d)
		f.blend(aNaN, a, least, x)
		f.blend(bNaN, b, least, y)
		f.greater(y, x, greater)
		f.blend(greater, x, y, x)
		f.or(bNaN, aNaN, aNaN)
		f.blend(aNaN, x, number, d)
	}
}
