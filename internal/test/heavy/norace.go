//go:build !race

package heavy

// Race reports whether the race detector is on.
const Race = false
