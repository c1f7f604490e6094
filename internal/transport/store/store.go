// Package store copies bytes into memory that another core has in its cache, such as a ring of shared
// memory that its reader has emptied.
//
// The copy function of Go loads each line from the other cache before it overwrites all of it. Long
// string moves of the processor only take the line away from there. On an EPYC with two cores, 16 KiB
// or more into a ring take 8 ps a byte in place of 23, and 20 in place of 80 if the cores have no
// common cache (BenchmarkIntoRing).
package store

// long is the length in bytes from which a string move is worth its start.
const long = 1 << 10

// Copy copies as the built-in function does. The slices must not overlap.
func Copy(dst, src []byte) int {
	n := min(len(dst), len(src))
	if n < long || !move(dst[:n], src[:n]) {
		copy(dst, src[:n])
	}
	return n
}
