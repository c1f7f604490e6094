package fold

import (
	"fmt"
	"math"
	"reflect"
	"unsafe"
)

// A Number can be compared: it has a least and a greatest one of two.
type Number interface {
	~int | ~int8 | ~int16 | ~int32 | ~int64 |
		~uint | ~uint8 | ~uint16 | ~uint32 | ~uint64 | ~uintptr |
		~float32 | ~float64
}

// A Loc is a value and where it is, such as the rank that has it: an element of MinLoc and MaxLoc.
//
// Where a Value is shorter than its place, MinLoc and MaxLoc set the bytes up to Index to zero, so
// that what they have made is the same at all ranks, byte by byte.
type Loc[T Number] struct {
	Value T
	Index int64
}

// locKernel returns the kernel for Locs, and for types that are made like them.
func locKernel(op Op, typ reflect.Type) (Kernel, error) {
	if typ.Kind() == reflect.Struct && typ.NumField() == 2 {
		value, index := typ.Field(0), typ.Field(1)
		if value.Name == "Value" && index.Name == "Index" && index.Type.Kind() == reflect.Int64 {
			if k := locKernels[op.code][classOf(value.Type)]; k != nil {
				return k, nil
			}
		}
	}
	return nil, fmt.Errorf("%s of %v: it is for Loc, a value and its index", op, typ)
}

// locKernels are those of MinLoc, and those of MaxLoc.
var locKernels = map[code]*[classes]Kernel{leastLoc: locsOf(false), greatestLoc: locsOf(true)}

func locsOf(greatest bool) *[classes]Kernel {
	return &[classes]Kernel{
		int8s:    locs(greatest, equal[int8]),
		int16s:   locs(greatest, equal[int16]),
		int32s:   locs(greatest, equal[int32]),
		int64s:   locs(greatest, equal[int64]),
		uint8s:   locs(greatest, equal[uint8]),
		uint16s:  locs(greatest, equal[uint16]),
		uint32s:  locs(greatest, equal[uint32]),
		uint64s:  locs(greatest, equal[uint64]),
		float32s: locs(greatest, func(x, y float32) int { return takes32(x, y, !greatest) }),
		float64s: locs(greatest, func(x, y float64) int { return takes64(x, y, !greatest) }),
	}
}

// locs makes a kernel that takes the Loc with the least or greatest value. takes says which of two
// values to take where neither is less: the left one if it is below 0, the right one if it is
// above, and if it is 0 they are the same.
func locs[T Number](greatest bool, takes func(x, y T) int) Kernel {
	var l Loc[T]
	place := unsafe.Offsetof(l.Index) // bytes that Value has for itself
	padded := unsafe.Sizeof(l.Value) < place
	return viewed(func(dst, a, b []Loc[T]) {
		a, b = a[:len(dst)], b[:len(dst)]
		for i := range dst {
			x, y := a[i], b[i]
			left := x.Value < y.Value
			if left || x.Value > y.Value {
				left = left != greatest
			} else if t := takes(x.Value, y.Value); t != 0 {
				left = t < 0
			} else {
				left = x.Index < y.Index
			}
			if left {
				y = x
			}
			d := &dst[i]
			if padded {
				clear(unsafe.Slice((*byte)(unsafe.Pointer(d)), place))
			}
			d.Value = y.Value
			d.Index = y.Index
		}
	})
}

// equal is what locs asks of integers.
func equal[T Number](x, y T) int { return 0 }

// takes32 says which of two values bound32 takes.
func takes32(x, y float32, negative bool) int {
	m, n := math.Float32bits(x), math.Float32bits(y)
	switch {
	case m == n:
		return 0
	case math.Float32bits(bound32(x, y, negative)) == m:
		return -1
	}
	return 1
}

func takes64(x, y float64, negative bool) int {
	m, n := math.Float64bits(x), math.Float64bits(y)
	switch {
	case m == n:
		return 0
	case math.Float64bits(bound64(x, y, negative)) == m:
		return -1
	}
	return 1
}
