// Command asm writes the assembly of packages fold and, with -exact, fold/exact for amd64 with AVX2, and
// the declarations of its functions:
//
//	go generate ./runtime/fold
//	go generate ./runtime/fold/exact
//
// It is a module of its own, so that what writes assembly is no dependency of what runs it.
package main

import (
	"flag"
	"fmt"

	. "github.com/mmcloughlin/avo/build"
	. "github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

// A body folds one vector of a and one of b: it emits instructions that leave a·b in d. All three are
// registers of the same width, YMM or XMM, and d is none of the others. Constants are what the
// kernel's consts have prepared.
type body func(d, a, b reg.VecVirtual, constants []reg.VecVirtual)

// A kernel is one function of the assembly.
type kernel struct {
	name    string
	element int      // bytes of the smallest element that the tail is made of
	unroll  int      // vectors in the main loop
	consts  []uint64 // each is repeated throughout a register
	body    body
}

var exact = flag.Bool("exact", false, "write the assembly of package exact")

func main() {
	flag.Parse()
	if *exact {
		rows("addRows64", 8)
		rows("addRows32", 4)
		lanes("addLanes64", 8, false)
		lanes("addLanes32", 4, false)
		lanes("multiplyLanes64", 8, true)
		lanes("multiplyLanes32", 4, true)
		Generate()
		return
	}
	for _, k := range kernels() {
		k.emit()
	}
	Generate()
}

// vector returns a new register as wide as like.
func vector(like reg.VecVirtual) reg.VecVirtual {
	if like.Size() == 32 {
		return YMM()
	}
	return XMM()
}

// streamed is the number of bytes from which on what is stored goes past the caches: more than any core
// has for itself. Lines of dst are then not read before they are overwritten, which is a quarter of
// what the memory has to carry.
const streamed = 4 << 20

// operands are where the vectors go on, and how many bytes are left.
type operands struct{ dst, left, right, n reg.GPVirtual }

// emit writes the function: a loop of unroll vectors, one of single vectors, and what is left in
// halves of vectors, and so on down to one element. So no byte beyond the operands is touched, and a
// vector is loaded before any of it is stored, whichever operand dst is.
func (k kernel) emit() {
	TEXT(k.name, NOSPLIT, "func(dst, a, b []byte)")
	Doc(k.name + " needs AVX2.")
	Pragma("noescape")
	o := operands{
		dst:   Load(Param("dst").Base(), GP64()).(reg.GPVirtual),
		left:  Load(Param("a").Base(), GP64()).(reg.GPVirtual),
		right: Load(Param("b").Base(), GP64()).(reg.GPVirtual),
		n:     Load(Param("dst").Len(), GP64()).(reg.GPVirtual),
	}
	wide, narrow := k.constants()
	k.stream(o, wide)
	k.loop("block", k.unroll, o, wide, VMOVDQU)
	if k.unroll > 1 {
		k.loop("vector", 1, o, wide, VMOVDQU)
	}
	for size := 16; size >= k.element; size /= 2 {
		k.part(size, o, narrow)
	}
	VZEROUPPER()
	RET()
}

// stream folds most of a long vector to memory that is none of the operands'. Such stores have to be
// aligned, and fill lines best if they begin with one. So the first line is folded as any other, and
// then again what of it comes after the next boundary; where no element begins at a boundary, nothing
// is streamed.
func (k kernel) stream(o operands, constants []reg.VecVirtual) {
	const not = "not_streamed"
	CMPQ(o.n, U32(streamed))
	JB(LabelRef(not))
	CMPQ(o.dst, o.left)
	JE(LabelRef(not))
	CMPQ(o.dst, o.right)
	JE(LabelRef(not))
	if k.element > 1 {
		TESTQ(U32(k.element-1), o.dst)
		JNZ(LabelRef(not))
	}
	k.vectors(2, o, constants, VMOVDQU)
	past := GP64()
	MOVQ(o.dst, past)
	NEGQ(past)
	ANDQ(Imm(63), past)
	o.advance(past)
	k.loop("streamed", k.unroll, o, constants, VMOVNTDQ)
	SFENCE()
	Label(not)
}

// advance goes on by so many bytes.
func (o operands) advance(bytes Op) {
	for _, p := range []reg.Register{o.left, o.right, o.dst} {
		ADDQ(bytes, p)
	}
	SUBQ(bytes, o.n)
}

// constants loads the kernel's constants, and returns them in registers of both widths.
func (k kernel) constants() (wide, narrow []reg.VecVirtual) {
	for _, c := range k.consts {
		word, x, y := GP64(), XMM(), YMM()
		MOVQ(U64(c), word)
		VMOVQ(word, x)
		VPBROADCASTQ(x, y)
		wide = append(wide, y)
		narrow = append(narrow, y.AsX().(reg.VecVirtual))
	}
	return wide, narrow
}

// loop folds as long as there are so many vectors.
func (k kernel) loop(label string, vectors int, o operands, constants []reg.VecVirtual, store func(from, to Op)) {
	size := U32(32 * vectors)
	CMPQ(o.n, size)
	JB(LabelRef(label + "_done"))
	Label(label)
	k.vectors(vectors, o, constants, store)
	o.advance(size)
	CMPQ(o.n, size)
	JAE(LabelRef(label))
	Label(label + "_done")
}

// vectors folds so many vectors.
func (k kernel) vectors(vectors int, o operands, constants []reg.VecVirtual, store func(from, to Op)) {
	var results []reg.VecVirtual
	for i := range vectors {
		a, b, d := YMM(), YMM(), YMM()
		VMOVDQU(Mem{Base: o.left, Disp: 32 * i}, a)
		VMOVDQU(Mem{Base: o.right, Disp: 32 * i}, b)
		k.body(d, a, b, constants)
		results = append(results, d)
	}
	for i, d := range results {
		store(d, Mem{Base: o.dst, Disp: 32 * i})
	}
}

// part folds size bytes, a power of two, if the rest has that many.
func (k kernel) part(size int, o operands, constants []reg.VecVirtual) {
	done := fmt.Sprintf("no_%d", size)
	TESTQ(U32(size), o.n)
	JZ(LabelRef(done))
	a, b, d := XMM(), XMM(), XMM()
	load(size, Mem{Base: o.left}, a)
	load(size, Mem{Base: o.right}, b)
	k.body(d, a, b, constants)
	store(size, d, Mem{Base: o.dst})
	if size > k.element {
		for _, p := range []reg.Register{o.left, o.right, o.dst} {
			ADDQ(Imm(uint64(size)), p)
		}
	}
	Label(done)
}

// load loads size bytes, followed by zeros.
func load(size int, from Mem, to reg.VecVirtual) {
	switch size {
	case 16:
		VMOVDQU(from, to)
	case 8:
		VMOVQ(from, to)
	case 4:
		VMOVD(from, to)
	case 2:
		VPXOR(to, to, to)
		VPINSRW(Imm(0), from, to, to)
	case 1:
		VPXOR(to, to, to)
		VPINSRB(Imm(0), from, to, to)
	}
}

func store(size int, from reg.VecVirtual, to Mem) {
	switch size {
	case 16:
		VMOVDQU(from, to)
	case 8:
		VMOVQ(from, to)
	case 4:
		VMOVD(from, to)
	case 2:
		VPEXTRW(Imm(0), from, to)
	case 1:
		VPEXTRB(Imm(0), from, to)
	}
}
