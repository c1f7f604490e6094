package main

import (
	"fmt"
	"math"

	. "github.com/mmcloughlin/avo/build"
	. "github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

// rows writes the loop of exact.Rows. For eight columns at a time, the loop adds up the elements of
// all rows, the errors of these additions, the errors of that sum, and the sizes of these last
// errors. Then it rounds.
func rows(name string, element int) {
	const vectors = 2 // of four columns each, at a time
	TEXT(name, NOSPLIT, fmt.Sprintf("func(dst *float%d, unsure *uint8, rows *float%[1]d, columns, stride, count int, slack float64)", 8*element))
	Doc(name+" needs AVX2. columns is a multiple of 8, and stride is in bytes. Each byte of unsure is for",
		"eight columns. A bit of it is set if the column's number in dst may be wrong.")
	Pragma("noescape")
	dst := Load(Param("dst"), GP64())
	unsure := Load(Param("unsure"), GP64())
	rows := Load(Param("rows"), GP64())
	columns := Load(Param("columns"), GP64())
	stride := Load(Param("stride"), GP64())
	count := Load(Param("count"), GP64())
	narrow, slack := Load(Param("slack"), XMM()), YMM()
	VBROADCASTSD(narrow, slack)
	notSign := repeated(1<<63 - 1)

	Label("columns")
	var all [vectors]rowVectors
	var x [vectors]reg.VecVirtual
	y, z := YMM(), YMM()
	for i := range vectors {
		c := rowVectors{YMM(), YMM(), YMM(), YMM()}
		all[i], x[i] = c, YMM()
		load64(element, rows, 4*i, c.sum)
		VXORPD(c.rest, c.rest, c.rest)
		VXORPD(c.third, c.third, c.third)
		VSUBPD(c.sum, c.sum, c.lost) // NaN if the sum is an infinity or NaN
	}
	row, left := GP64(), GP64()
	MOVQ(rows, row)
	MOVQ(count, left)
	DECQ(left)
	JZ(LabelRef("added"))
	Label("row")
	ADDQ(stride, row)
	for i := range vectors {
		load64(element, row, 4*i, x[i])
	}
	for i, c := range all {
		twoSum(c.sum, x[i], y, z) // x is the rounding error
		twoSum(c.rest, x[i], y, z)
		VADDPD(x[i], c.third, c.third)
		VANDPD(notSign, x[i], x[i])
		VADDPD(x[i], c.lost, c.lost)
	}
	DECQ(left)
	JNZ(LabelRef("row"))
	Label("added")
	flags := GP32()
	for i, c := range all {
		result, sure := c.round(element, slack, notSign)
		to := Mem{Base: dst, Disp: 4 * element * i}
		if element == 4 {
			VCVTPD2PSY(result, result.AsX())
			VMOVUPS(result.AsX(), to)
		} else {
			VMOVUPD(result, to)
		}
		four := GP32()
		VMOVMSKPD(sure, four)
		if i == 0 {
			MOVL(four, flags)
			continue
		}
		SHLL(Imm(uint64(4*i)), four)
		ORL(four, flags)
	}
	NOTL(flags)
	MOVB(flags.As8(), Mem{Base: unsure})
	INCQ(unsure)
	ADDQ(Imm(uint64(4*element*vectors)), dst)
	ADDQ(Imm(uint64(4*element*vectors)), rows)
	SUBQ(Imm(4*vectors), columns)
	JNZ(LabelRef("columns"))
	VZEROUPPER()
	RET()
}

// rowVectors are four sums of columns, as in exact.columnSum.
type rowVectors struct{ sum, rest, third, lost reg.VecVirtual }

// round rounds as exact.round does, and returns the columns in which the result is sure to be
// right. For elements of 4 bytes it does not round to odd. Instead, the two numbers that enclose
// the sum are wider apart, and both must become the same float32.
func (c rowVectors) round(element int, slack, notSign reg.VecVirtual) (result, sure reg.VecVirtual) {
	const equal, unequal = 0, 12 // kinds of comparison; NaN is neither
	zero, high, low, y, z := YMM(), YMM(), YMM(), YMM(), YMM()
	VXORPD(zero, zero, zero)
	// If nothing is lost, the result is sum + rest. For float32 it is sum, if rest is 0.
	lossless, whole := YMM(), YMM()
	if element == 4 {
		VORPD(c.rest, c.lost, lossless)
		VCMPPD(Imm(equal), zero, lossless, lossless)
	} else {
		VCMPPD(Imm(equal), zero, c.lost, lossless)
	}
	VADDPD(c.rest, c.sum, whole)
	VCMPPD(Imm(equal), zero, whole, y)
	VCMPPD(Imm(equal), zero, c.sum, z)
	VANDPD(y, z, z)
	VBLENDVPD(z, c.sum, whole, whole) // a sum of -0 alone is -0

	VMOVAPD(c.sum, high)
	VMOVAPD(c.rest, low)
	twoSum(high, low, y, z)
	off := c.third
	twoSum(low, off, y, z)
	twoSum(high, low, y, z)
	wide := c.lost
	VMULPD(slack, wide, wide)
	VANDPD(notSign, off, off)
	VADDPD(off, wide, wide)
	VADDPD(wide, wide, wide)
	places := repeated(math.Float64bits(0x1p-51))
	from := low
	if element == 4 {
		from = high
	}
	VANDPD(notSign, from, y)
	VMULPD(places, y, y)
	VADDPD(y, wide, wide)
	up, down := YMM(), YMM()
	VADDPD(wide, low, up)
	VSUBPD(wide, low, down)
	VADDPD(up, high, up)
	VADDPD(down, high, down)
	sure = YMM()
	if element == 4 {
		VCVTPD2PSY(up, y.AsX())
		VCVTPS2PD(y.AsX(), up)
		VCVTPD2PSY(down, y.AsX())
		VCVTPS2PD(y.AsX(), down)
	}
	VCMPPD(Imm(equal), up, down, sure)
	VCMPPD(Imm(unequal), zero, up, y)
	VANDPD(y, sure, sure)
	VORPD(lossless, sure, sure)
	VBLENDVPD(lossless, whole, up, up)
	return up, sure
}

// load64 loads four elements, from number at on. Elements of 4 bytes become float64.
func load64(element int, base reg.Register, at int, to reg.VecVirtual) {
	from := Mem{Base: base, Disp: element * at}
	if element == 4 {
		VCVTPS2PD(from, to)
		return
	}
	VMOVUPD(from, to)
}

// repeated returns a register that repeats a word.
func repeated(word uint64) reg.VecVirtual {
	w, x, y := GP64(), XMM(), YMM()
	MOVQ(U64(word), w)
	VMOVQ(w, x)
	VPBROADCASTQ(x, y)
	return y
}

// twoSum adds x to sum, rounded, and leaves the rounding error in x. It overwrites y and z.
func twoSum(sum, x, y, z reg.VecVirtual) {
	VADDPD(x, sum, y)
	VSUBPD(sum, y, z)
	VSUBPD(z, x, x) // y - z: the part of x that was added
	VSUBPD(z, y, z)
	VSUBPD(z, sum, z)
	VADDPD(x, z, x)
	VMOVAPD(y, sum)
}
