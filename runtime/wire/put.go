//go:build !race

package wire

// put stores v in a word that others load atomically, before the next atomic store of this rank.
// An atomic store is a locked instruction on amd64, which waits until its cache line has come. Ranks
// that have called different things may put to one word at a time: what then stands there belongs
// to one of them, and is no call of the other's.
func put(word *uint64, v uint64) { *word = v }
