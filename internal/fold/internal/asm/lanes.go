package main

import (
	"fmt"
	"math"

	. "github.com/mmcloughlin/avo/build"
	. "github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

// laneParts is the greatest number of parts of a lane's sum: the sum, and for each further part the
// errors of the part before.
const laneParts = 4

// lanes writes the loop of package exact for the sum of one vector, or of the products of two. Each
// of eight lanes adds up every eighth element, the errors of these additions, the errors of those,
// and so on. The errors of the last part are not added up. The loop only records whether there are
// any. Products of float64 have one part more, since they have twice as many bits.
func lanes(name string, element int, products bool) {
	const vectors = 2 // of four lanes each
	params, also := fmt.Sprintf("x *float%d", 8*element), ""
	if products {
		params, also = fmt.Sprintf("x, y *float%d", 8*element), " and FMA"
	}
	TEXT(name, NOSPLIT, "func(to *float64, "+params+", n int)")
	Doc(name + " needs AVX2" + also + ". to is a lanes, and n is a multiple of 8, but not 0.")
	Pragma("noescape")
	to := Load(Param("to"), GP64())
	from := []reg.Register{Load(Param("x"), GP64())}
	if products {
		from = append(from, Load(Param("y"), GP64()))
	}
	n := Load(Param("n"), GP64())
	// The product of two float32 is exact as a float64 and needs no second part.
	two, count := products && element == 8, laneParts-1
	if two {
		count = laneParts
	}
	var notSign, least reg.VecVirtual
	if two {
		notSign, least = repeated(1<<63-1), repeated(math.Float64bits(math.Inf(1)))
	}
	var parts [vectors][]reg.VecVirtual
	var lost [vectors]reg.VecVirtual
	x, e, y, z := YMM(), YMM(), YMM(), YMM()

	// next loads four numbers, or products with their errors.
	next := func(i int, x, e reg.VecVirtual) {
		load64(element, from[0], 4*i, x)
		if !products {
			return
		}
		load64(element, from[1], 4*i, y)
		if !two {
			VMULPD(y, x, x)
			return
		}
		VMOVAPD(x, e)
		VMULPD(y, x, x)
		VFMSUB213PD(x, y, e) // e·y - x
		VANDPD(notSign, x, y)
		VMINPD(y, least, least)
	}
	// add adds x to parts.
	add := func(parts []reg.VecVirtual, x, lost reg.VecVirtual) {
		for _, part := range parts {
			twoSum(part, x, y, z)
		}
		VORPD(x, lost, lost)
	}
	forward := func() {
		for _, p := range from {
			ADDQ(Imm(uint64(4*element*vectors)), p)
		}
		SUBQ(Imm(4*vectors), n)
	}
	for i := range vectors {
		parts[i] = []reg.VecVirtual{YMM()}
		for range count - 1 {
			zero := YMM()
			VXORPD(zero, zero, zero)
			parts[i] = append(parts[i], zero)
		}
		next(i, parts[i][0], parts[i][1])
		lost[i] = YMM()
		VSUBPD(parts[i][0], parts[i][0], lost[i]) // NaN if the sum is an infinity or NaN
	}
	forward()
	JZ(LabelRef("added"))
	Label("next")
	for i := range vectors {
		next(i, x, e)
		if two {
			add(parts[i][1:], e, lost[i])
		}
		add(parts[i], x, lost[i])
	}
	forward()
	JNZ(LabelRef("next"))
	Label("added")
	for i := range vectors {
		for k, part := range parts[i] {
			VMOVUPD(part, Mem{Base: to, Disp: 64*k + 32*i})
		}
		VMOVUPD(lost[i], Mem{Base: to, Disp: 64*laneParts + 32*i})
	}
	if two {
		VMOVUPD(least, Mem{Base: to, Disp: 64 * (laneParts + 1)})
	}
	VZEROUPPER()
	RET()
}
