package fold

import (
	"sync"
	"unsafe"
)

// aligned reports whether elements of type T may begin at the address of b.
func aligned[T any](b []byte) bool {
	var element T
	return uintptr(unsafe.Pointer(unsafe.SliceData(b)))%unsafe.Alignof(element) == 0
}

// view returns the memory of b, which must be aligned, as elements.
func view[T any](b []byte) []T {
	return unsafe.Slice((*T)(unsafe.Pointer(unsafe.SliceData(b))), len(b)/sizeOf[T]())
}

// bytesOf returns the memory of s.
func bytesOf[T any](s []T) []byte {
	return unsafe.Slice((*byte)(unsafe.Pointer(unsafe.SliceData(s))), len(s)*sizeOf[T]())
}

// sizeOf returns the number of bytes of an element.
func sizeOf[T any]() int {
	var element T
	return int(unsafe.Sizeof(element))
}

// same reports whether a and b, of equal length, are the same memory.
func same(a, b []byte) bool { return unsafe.SliceData(a) == unsafe.SliceData(b) }

// blockBytes is the number of bytes that are copied and folded at a time: few enough to stay in the
// first cache, and a multiple of the sizes of all basic elements.
const blockBytes = 4096

// A scratch is memory with the strictest alignment of the basic types.
type scratch struct{ left, right [blockBytes / 8]uint64 }

var scratches = sync.Pool{New: func() any { return new(scratch) }}

// viewed makes a kernel of a function on elements of at most 16 bytes. If memory is not aligned for
// the elements, the function gets copies.
func viewed[T any](fold func(dst, a, b []T)) Kernel {
	size := sizeOf[T]()
	return func(dst, a, b []byte) {
		check(size, dst, a, b)
		if aligned[T](dst) && aligned[T](a) && aligned[T](b) {
			fold(view[T](dst), view[T](a), view[T](b))
			return
		}
		s := scratches.Get().(*scratch)
		defer scratches.Put(s)
		left, right := bytesOf(s.left[:]), bytesOf(s.right[:])
		most := blockBytes / size * size
		for len(dst) > 0 {
			n := copy(left[:most], a)
			copy(right, b[:n])
			fold(view[T](left[:n]), view[T](left[:n]), view[T](right[:n]))
			copy(dst, left[:n])
			dst, a, b = dst[n:], a[n:], b[n:]
		}
	}
}
