// Command asm writes assembly for amd64 with AVX2, and the declarations of its functions. It writes
// that of package fold or, with -exact, of fold/exact:
//
//	go generate ./internal/fold
//	go generate ./internal/fold/exact
//
// It is a module of its own, so that programs do not depend on the generator of assembly.
package main

import (
	"flag"
	"fmt"

	. "github.com/mmcloughlin/avo/build"
	. "github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

// A body emits instructions that fold vectors a and b and leave a·b in d. All three are registers
// of the same width, YMM or XMM, and d differs from a and b. The constants hold the kernel's
// consts.
type body func(d, a, b reg.VecVirtual, constants []reg.VecVirtual)

// A kernel is one function of the assembly.
type kernel struct {
	name    string
	element int      // bytes of the smallest element in the tail
	unroll  int      // vectors in the main loop
	consts  []uint64 // each fills a register by repetition
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

// streamed is the number of bytes from which on stores bypass the caches. It is more than the cache
// of any one core. The processor then does not read lines of dst before it overwrites them, which
// saves a quarter of the memory traffic.
const streamed = 4 << 20

// operands are the positions in the vectors, and the number of bytes left.
type operands struct{ dst, left, right, n reg.GPVirtual }

// emit writes the function: a loop of unroll vectors, a loop of single vectors, and the rest in
// half vectors, quarters and so on, down to one element. So no byte beyond the operands is touched.
// A vector is loaded before any of it is stored, so dst may be either operand.
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

// stream folds most of a long vector, if dst is neither operand. Streaming stores must be aligned,
// and are fastest if they begin at a cache line. So stream folds the first line like any other, and
// begins again at the next boundary. If no element begins at a boundary, it streams nothing.
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

// advance moves on by the given number of bytes.
func (o operands) advance(bytes Op) {
	for _, p := range []reg.Register{o.left, o.right, o.dst} {
		ADDQ(bytes, p)
	}
	SUBQ(bytes, o.n)
}

// constants loads the kernel's constants and returns them in registers of both widths.
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

// loop folds the given number of vectors at a time, while that many are left.
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

// vectors folds the given number of vectors.
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

// part folds size bytes, a power of two, if that many are left.
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
