package fold

import (
	"fmt"
	"reflect"
	"sync"
)

// Func returns an operation of the program's own on elements of type T, which must not contain
// pointers. For each i, fn sets dst[i] to the result of dst[i], the left operand, and src[i], the
// right one:
//
//	var Hypot = fold.Func("hypot", true, func(dst, src []float64) {
//		for i, s := range src {
//			dst[i] = math.Hypot(dst[i], s)
//		}
//	})
//
// The operation must be associative. A reduction takes its operands in the order of ranks unless
// commutative is set. Both slices have the same length. fn is called for parts of vectors of any
// length, so it must treat each element separately. It must not write to src or keep the slices,
// and several goroutines may call it at the same time. All ranks identify the operation by its
// name, which must differ from the names of the operations of this package.
//
// fn decides the bytes between the fields of a T.
func Func[T any](name string, commutative bool, fn func(dst, src []T)) Op {
	return Op{name: name, commutative: commutative, user: &function[T]{fn: fn}}
}

// A function is an operation of the program's own.
type function[T any] struct {
	fn    func(dst, src []T)
	parts sync.Pool // of *[2][]T, for operands that fn cannot have in place
}

func (f *function[T]) element() reflect.Type { return reflect.TypeFor[T]() }

// userKernel returns the kernel of an operation of the program's own.
func userKernel(op Op, typ reflect.Type) (Kernel, error) {
	element := op.user.element()
	switch {
	case op.name == "":
		return nil, fmt.Errorf("a function on %v has no name", element)
	case builtin()[op.name]:
		return nil, fmt.Errorf("a function on %v is named %s, like an operation of package fold", element, op)
	case typ != element:
		return nil, fmt.Errorf("%s of %v: it is a function on %v", op, typ, element)
	case element.Size() == 0:
		return nil, fmt.Errorf("%s of %v: such elements have no bytes", op, element)
	case hasPointers(element):
		return nil, fmt.Errorf("%s of %v: such elements have pointers, which mean nothing at other ranks", op, element)
	}
	k := op.user.kernel()
	if k == nil {
		return nil, fmt.Errorf("%s of %v: the function is nil", op, element)
	}
	return k, nil
}

// builtin has the names of the operations of this package.
var builtin = sync.OnceValue(func() map[string]bool {
	names := make(map[string]bool)
	for _, op := range []Op{Sum, Prod, Min, Max, And, Or, Xor, LAnd, LOr, LXor, MinLoc, MaxLoc} {
		names[op.name] = true
	}
	return names
})

func hasPointers(typ reflect.Type) bool {
	switch typ.Kind() {
	case reflect.Array:
		return typ.Len() > 0 && hasPointers(typ.Elem())
	case reflect.Struct:
		for i := range typ.NumField() {
			if hasPointers(typ.Field(i).Type) {
				return true
			}
		}
		return false
	case reflect.Bool, reflect.Int, reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64,
		reflect.Uint, reflect.Uint8, reflect.Uint16, reflect.Uint32, reflect.Uint64, reflect.Uintptr,
		reflect.Float32, reflect.Float64, reflect.Complex64, reflect.Complex128:
		return false
	}
	return true
}

func (f *function[T]) kernel() Kernel {
	if f.fn == nil {
		return nil
	}
	size := sizeOf[T]()
	return func(dst, a, b []byte) {
		check(size, dst, a, b)
		switch {
		case len(dst) == 0:
		case same(dst, b) || !aligned[T](dst) || !aligned[T](b):
			f.byParts(dst, a, b)
		default:
			if !same(dst, a) {
				copy(dst, a)
			}
			f.fn(view[T](dst), view[T](b))
		}
	}
}

// byParts folds copies in parts. It copies a, because dst overlaps an operand or is not aligned for
// elements. It copies b too if b is not aligned.
func (f *function[T]) byParts(dst, a, b []byte) {
	p, _ := f.parts.Get().(*[2][]T)
	if p == nil {
		n := max(1, blockBytes/sizeOf[T]())
		p = &[2][]T{make([]T, n), make([]T, n)}
	}
	defer f.parts.Put(p)
	left, right := bytesOf(p[0]), bytesOf(p[1])
	for len(dst) > 0 {
		n := copy(left, a)
		src := b[:n]
		if !aligned[T](src) {
			src = right[:copy(right, src)]
		}
		f.fn(view[T](left[:n]), view[T](src))
		copy(dst, left[:n])
		dst, a, b = dst[n:], a[n:], b[n:]
	}
}
