package schedgen

import (
	"fmt"
	"reflect"
	"sync/atomic"
	"unsafe"
)

// known is a list of element types that have passed the check. A program has few of them. So a walk
// along the list is quicker than a map, and it needs no lock.
type known struct {
	typ  reflect.Type
	next *known
}

var elements atomic.Pointer[known]

// checkElement returns why values of type T cannot be moved. It returns nil if they can.
func checkElement[T any]() error {
	typ := reflect.TypeFor[T]()
	head := elements.Load()
	for k := head; k != nil; k = k.next {
		if k.typ == typ {
			return nil
		}
	}
	return learn(typ, head)
}

// learn checks typ, which is not in the list from head on. If typ passes, learn adds it to the
// list.
func learn(typ reflect.Type, head *known) error {
	if typ.Size() == 0 {
		return fmt.Errorf("elements are %v, which have no bytes", typ)
	}
	if path, bad := pointerIn(typ, ""); bad != nil {
		if path == "" {
			return fmt.Errorf("elements are %v: only types without pointers can be moved", typ)
		}
		return fmt.Errorf("elements are %v, where %s is %v: only types without pointers can be moved", typ, path, bad)
	}
	// Another goroutine may have added a type since. Then this one is checked again next time.
	elements.CompareAndSwap(head, &known{typ, head})
	return nil
}

// pointerIn returns the place and the type of the first pointer in typ. path is the place of typ.
// The result is nil if there is none.
func pointerIn(typ reflect.Type, path string) (at string, what reflect.Type) {
	switch typ.Kind() {
	case reflect.Bool, reflect.Int, reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64,
		reflect.Uint, reflect.Uint8, reflect.Uint16, reflect.Uint32, reflect.Uint64, reflect.Uintptr,
		reflect.Float32, reflect.Float64, reflect.Complex64, reflect.Complex128:
		return "", nil
	case reflect.Array:
		if typ.Len() == 0 {
			return "", nil
		}
		return pointerIn(typ.Elem(), path+"[0]")
	case reflect.Struct:
		for i := range typ.NumField() {
			field := typ.Field(i)
			if at, what := pointerIn(field.Type, path+"."+field.Name); what != nil {
				return at, what
			}
		}
		return "", nil
	default:
		return path, typ
	}
}

// sizeOf returns the number of bytes of an element.
func sizeOf[T any]() int {
	var element T
	return int(unsafe.Sizeof(element))
}

// bytesOf returns the memory of s.
func bytesOf[T any](s []T) []byte {
	return unsafe.Slice((*byte)(unsafe.Pointer(unsafe.SliceData(s))), len(s)*sizeOf[T]())
}

// overlap reports whether dst and src share memory, and the element of dst at which src begins. at
// is meaningful only if inside is true: src then begins at an element of dst and ends in dst.
func overlap[T any](dst, src []T) (shares bool, at int, inside bool) {
	if len(dst) == 0 || len(src) == 0 {
		return false, 0, false
	}
	var element T
	size := unsafe.Sizeof(element)
	d, s := uintptr(unsafe.Pointer(unsafe.SliceData(dst))), uintptr(unsafe.Pointer(unsafe.SliceData(src)))
	dEnd, sEnd := d+uintptr(len(dst))*size, s+uintptr(len(src))*size
	if dEnd <= s || sEnd <= d {
		return false, 0, false
	}
	return true, int(s-d) / int(size), d <= s && sEnd <= dEnd && (s-d)%size == 0
}
