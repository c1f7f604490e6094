//go:build !race

package wire

// put stores v in a word that others load atomically, and that becomes visible with the next atomic
// store of this rank. An atomic store on amd64 is a locked instruction, which waits for its cache
// line. Ranks that have called different operations may put to one word at a time. The word then
// holds the value of one of them, which the other's reader does not accept.
func put(word *uint64, v uint64) { *word = v }
