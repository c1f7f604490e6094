//go:build !amd64 || race

package store

import "unsafe"

// move copies nothing: copy does, which the race detector sees.
func move(_, _ []byte) bool { return false }

// Fetch does nothing.
func Fetch(_ unsafe.Pointer) {}
