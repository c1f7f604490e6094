package main

import (
	. "github.com/mmcloughlin/avo/build"
	. "github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

// rowsFloat64 writes the loop of exact.Rows: for some columns at a time, it adds up the elements of all
// rows, the errors of these additions, and what the sum of errors has lost.
func rowsFloat64() {
	const vectors = 2 // of four columns each, at a time
	TEXT("addRows", NOSPLIT, "func(sums, rests, lost, rows *float64, columns, stride, count int)")
	Doc("addRows needs AVX2. columns is a multiple of 8, and stride is in bytes.")
	Pragma("noescape")
	sums := Load(Param("sums"), GP64())
	rests := Load(Param("rests"), GP64())
	lost := Load(Param("lost"), GP64())
	rows := Load(Param("rows"), GP64())
	columns := Load(Param("columns"), GP64())
	stride := Load(Param("stride"), GP64())
	count := Load(Param("count"), GP64())

	Label("columns")
	var sum, rest, off, x, y, z [vectors]reg.VecVirtual
	for i := range vectors {
		sum[i], rest[i], off[i] = YMM(), YMM(), YMM()
		x[i], y[i], z[i] = YMM(), YMM(), YMM()
		VMOVUPD(Mem{Base: rows, Disp: 32 * i}, sum[i])
		VXORPD(rest[i], rest[i], rest[i])
		VSUBPD(sum[i], sum[i], off[i]) // NaN if it is no number
	}
	row, left := GP64(), GP64()
	MOVQ(rows, row)
	MOVQ(count, left)
	DECQ(left)
	JZ(LabelRef("added"))
	Label("row")
	ADDQ(stride, row)
	for i := range vectors {
		VMOVUPD(Mem{Base: row, Disp: 32 * i}, x[i])
	}
	for i := range vectors {
		twoSum(sum[i], x[i], y[i], z[i]) // x is what is off
		twoSum(rest[i], x[i], y[i], z[i])
		VORPD(x[i], off[i], off[i])
	}
	DECQ(left)
	JNZ(LabelRef("row"))
	Label("added")
	for i := range vectors {
		VMOVUPD(sum[i], Mem{Base: sums, Disp: 32 * i})
		VMOVUPD(rest[i], Mem{Base: rests, Disp: 32 * i})
		VMOVUPD(off[i], Mem{Base: lost, Disp: 32 * i})
	}
	for _, p := range []reg.Register{sums, rests, lost, rows} {
		ADDQ(Imm(32*vectors), p)
	}
	SUBQ(Imm(4*vectors), columns)
	JNZ(LabelRef("columns"))
	VZEROUPPER()
	RET()
}

// twoSum adds x to sum, rounded, and leaves the rounding error in x. It overwrites y and z.
func twoSum(sum, x, y, z reg.VecVirtual) {
	VADDPD(x, sum, y)
	VSUBPD(sum, y, z)
	VSUBPD(z, x, x) // y - z: what of x has been added
	VSUBPD(z, y, z)
	VSUBPD(z, sum, z)
	VADDPD(x, z, x)
	VMOVAPD(y, sum)
}
