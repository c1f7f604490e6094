//go:build !race

package ballast

// ballast has a length from which less time cannot be measured.
var ballast = make([]byte, 64<<20)
