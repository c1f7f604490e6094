//go:build !amd64 || race

package store

// move copies nothing: copy does, which the race detector sees.
func move(_, _ []byte) bool { return false }
