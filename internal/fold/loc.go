package fold

import (
	"fmt"
	"math"
	"reflect"
	"sync"
	"unsafe"
)

// A Number can be compared, so two of them have a minimum and a maximum.
type Number interface {
	~int | ~int8 | ~int16 | ~int32 | ~int64 |
		~uint | ~uint8 | ~uint16 | ~uint32 | ~uint64 | ~uintptr |
		~float32 | ~float64
}

// A Loc is a value and its index, such as the rank that has it. It is an element of MinLoc and
// MaxLoc.
//
// If Value is shorter than the space before Index, MinLoc and MaxLoc set that space to zero. So
// their results are the same at all ranks, byte by byte.
type Loc[T Number] struct {
	Value T     // compared first
	Index int64 // compared if values are equal
}

// locKernel returns the kernel for Locs, and for types with the same fields.
func locKernel(op Op, typ reflect.Type) (Kernel, error) {
	if typ.Kind() == reflect.Struct && typ.NumField() == 2 {
		value, index := typ.Field(0), typ.Field(1)
		if value.Name == "Value" && index.Name == "Index" && index.Type.Kind() == reflect.Int64 {
			if k := locKernels()[op.code][classOf(value.Type)]; k != nil {
				return k, nil
			}
		}
	}
	return nil, fmt.Errorf("%s of %v: it is for Loc, a value and its index", op, typ)
}

// locKernels are the kernels of MinLoc and MaxLoc.
var locKernels = sync.OnceValue(func() map[code]*[classes]Kernel {
	return map[code]*[classes]Kernel{leastLoc: locsOf(false), greatestLoc: locsOf(true)}
})

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

// locs makes a kernel that takes the Loc with the least or greatest value. If neither of two values
// is less, takes decides: the left value if the result is below 0, the right one if it is above 0.
// With 0 the values are the same, and the lower index decides.
func locs[T Number](greatest bool, takes func(x, y T) int) Kernel {
	var l Loc[T]
	place := unsafe.Offsetof(l.Index) // bytes before Index
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

// equal is takes for integers.
func equal[T Number](x, y T) int { return 0 }

// takes32 returns which of two values bound32 takes, as takes of locs does.
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
