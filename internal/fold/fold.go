package fold

import (
	"fmt"
	"reflect"
	"sync"
)

// A Kernel folds two vectors. It sets each element of dst to a·b, where a is the element at the
// same index in the left operand, and b the one in the right operand.
//
// All three vectors have the same number of bytes, a multiple of the element's size; otherwise the
// kernel panics. They may begin at any address. dst may be the memory of a, of b, or of both; it
// must not overlap them otherwise. Several goroutines may call a kernel at the same time.
type Kernel func(dst, a, b []byte)

// For returns the kernel that performs op on elements of type T, and the number of bytes of an
// element. It returns an error if op does not support T.
func For[T any](op Op) (k Kernel, size int, err error) {
	return ForType(op, reflect.TypeFor[T]())
}

// ForType is For with a type that is known by reflection. A named type is handled like its
// underlying type: type Celsius float64 is added like float64.
func ForType(op Op, typ reflect.Type) (k Kernel, size int, err error) {
	switch {
	case typ == nil:
		err = fmt.Errorf("the type of the elements of %s is nil", op)
	case op.user != nil:
		k, err = userKernel(op, typ)
	case op.code == none:
		err = fmt.Errorf("no operation is given")
	case op.code == leastLoc || op.code == greatestLoc:
		k, err = locKernel(op, typ)
	default:
		k = kernels()[op.code][classOf(typ)]
		if k == nil {
			err = unfit(op, typ)
		}
	}
	if err != nil {
		return nil, 0, err
	}
	return k, int(typ.Size()), nil
}

// Exact reports whether every order and all brackets give the same bits for elements of a type: see
// the package documentation. Of an operation that Func has made, it is not known.
func (o Op) Exact(typ reflect.Type) bool {
	switch {
	case o.user != nil:
		return false
	case o.code != sum && o.code != prod:
		return true
	}
	class := classOf(typ)
	return class >= int8s && class <= uint64s
}

// unfit returns an error that says why there is no kernel.
func unfit(op Op, typ reflect.Type) error {
	kind := typ.Kind()
	basic := kind.String() // the underlying type of a named type
	takes := "integers and bool"
	if op.code <= greatest {
		takes = "numbers"
	}
	var why string
	switch classOf(typ) {
	case other:
		why = "it is for " + takes
		if kind == reflect.Struct {
			why += "; use Func for a struct"
		} else if kind == reflect.Array {
			why += "; use Func for an array"
		}
	case bools:
		instead := map[code]string{sum: "or", prod: "and", least: "and", greatest: "or"}[op.code]
		why = fmt.Sprintf("%s has no %s; use %s", basic, op, instead)
	case complex64s, complex128s:
		if op.code == least || op.code == greatest {
			why = basic + " has no order"
			break
		}
		fallthrough
	default:
		why = fmt.Sprintf("it is for %s, not for %s", takes, basic)
	}
	return fmt.Errorf("%s of %v: %s", op, typ, why)
}

// A class identifies the types that share kernels.
type class int

const (
	other class = iota
	int8s
	int16s
	int32s
	int64s
	uint8s
	uint16s
	uint32s
	uint64s
	float32s
	float64s
	complex64s
	complex128s
	bools
	classes // the number of classes
)

func classOf(typ reflect.Type) class {
	switch typ.Kind() {
	case reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64, reflect.Int:
		return bySize(typ.Size(), int8s)
	case reflect.Uint8, reflect.Uint16, reflect.Uint32, reflect.Uint64, reflect.Uint, reflect.Uintptr:
		return bySize(typ.Size(), uint8s)
	case reflect.Float32:
		return float32s
	case reflect.Float64:
		return float64s
	case reflect.Complex64:
		return complex64s
	case reflect.Complex128:
		return complex128s
	case reflect.Bool:
		return bools
	}
	return other
}

// bySize returns the class of integers of size bytes; first is the class of one byte.
func bySize(size uintptr, first class) class {
	switch size {
	case 1:
		return first
	case 2:
		return first + 1
	case 4:
		return first + 2
	}
	return first + 3
}

// A table has the kernels of the operations by class of elements, or nil.
type table [codes][classes]Kernel

// kernels are the fastest kernels for this machine.
var kernels = sync.OnceValue(func() *table {
	t := plain()
	accelerate(t)
	return t
})

// check panics unless dst, a and b are vectors of equal length, of elements of size bytes.
func check(size int, dst, a, b []byte) {
	if len(a) != len(dst) || len(b) != len(dst) || len(dst)%size != 0 {
		panic(fmt.Sprintf("fold: dst has %d bytes, a has %d and b %d: must be one multiple of %d", len(dst), len(a), len(b), size))
	}
}
