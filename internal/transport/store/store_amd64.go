//go:build !race

package store

import (
	"unsafe"

	"golang.org/x/sys/cpu"
)

// move copies all of src to dst, which are equally long and not empty, if the processor has fast
// string moves.
func move(dst, src []byte) bool {
	if !cpu.X86.HasERMS {
		return false
	}
	moveString(unsafe.Pointer(unsafe.SliceData(dst)), unsafe.Pointer(unsafe.SliceData(src)), len(src))
	return true
}

// moveString copies n bytes upwards.
//
//go:noescape
func moveString(dst, src unsafe.Pointer, n int)

// Fetch asks for the cache line at p, to store to it soon, and does not wait. Other caches lose the
// line.
//
//go:noescape
func Fetch(p unsafe.Pointer)
