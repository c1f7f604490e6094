package fold

import "golang.org/x/sys/cpu"

//go:generate go run -C internal/asm . -out ../../kernels_amd64.s -stubs ../../kernels_amd64.go -pkg fold

// accelerate replaces the kernels of t for which the processor has faster ones: all except those of
// Loc.
func accelerate(t *table) {
	if !cpu.X86.HasAVX2 {
		return
	}
	for op, fast := range map[code]map[class]Kernel{
		sum: {
			int8s: sumInt8, int16s: sumInt16, int32s: sumInt32, int64s: sumInt64,
			uint8s: sumInt8, uint16s: sumInt16, uint32s: sumInt32, uint64s: sumInt64,
			float32s: sumFloat32, float64s: sumFloat64,
			complex64s: sumFloat32, complex128s: sumFloat64,
		},
		prod: {
			int8s: prodInt8, int16s: prodInt16, int32s: prodInt32, int64s: prodInt64,
			uint8s: prodInt8, uint16s: prodInt16, uint32s: prodInt32, uint64s: prodInt64,
			float32s: prodFloat32, float64s: prodFloat64,
			complex64s: prodComplex64, complex128s: prodComplex128,
		},
		least: {
			int8s: minInt8, int16s: minInt16, int32s: minInt32, int64s: minInt64,
			uint8s: minUint8, uint16s: minUint16, uint32s: minUint32, uint64s: minUint64,
			float32s: minFloat32, float64s: minFloat64,
		},
		greatest: {
			int8s: maxInt8, int16s: maxInt16, int32s: maxInt32, int64s: maxInt64,
			uint8s: maxUint8, uint16s: maxUint16, uint32s: maxUint32, uint64s: maxUint64,
			float32s: maxFloat32, float64s: maxFloat64,
		},
		and:        {uint8s: andBits, uint16s: andBits, uint32s: andBits, uint64s: andBits},
		or:         {uint8s: orBits, uint16s: orBits, uint32s: orBits, uint64s: orBits},
		xor:        {uint8s: xorBits, uint16s: xorBits, uint32s: xorBits, uint64s: xorBits},
		logicalAnd: {uint8s: logicalAnd8, uint16s: logicalAnd16, uint32s: logicalAnd32, uint64s: logicalAnd64},
		logicalOr:  {uint8s: logicalOr8, uint16s: logicalOr16, uint32s: logicalOr32, uint64s: logicalOr64},
		logicalXor: {uint8s: logicalXor8, uint16s: logicalXor16, uint32s: logicalXor32, uint64s: logicalXor64},
	} {
		for c, k := range fast {
			t[op][c] = checked(c, k)
		}
	}
	bits(t)
}

// checked returns a kernel that checks the lengths of its operands before it calls k.
func checked(c class, k Kernel) Kernel {
	size := sizes[c]
	return func(dst, a, b []byte) {
		check(size, dst, a, b)
		k(dst, a, b)
	}
}

// sizes are the bytes of an element, by class.
var sizes = [classes]int{
	int8s: 1, int16s: 2, int32s: 4, int64s: 8,
	uint8s: 1, uint16s: 2, uint32s: 4, uint64s: 8,
	float32s: 4, float64s: 8, complex64s: 8, complex128s: 16,
}
