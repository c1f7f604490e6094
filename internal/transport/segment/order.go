//go:build linux

package segment

import "sync/atomic"

// Two ranks that wait for each other each store a word, and then load the word that the other
// stores. One of the two must see the other's store. This holds if every store is visible before
// later loads, as in Go's memory model for atomics. But the race detector's stores only release. A
// swap keeps the guarantee there too, and is the same instruction as a store on amd64.

func store32(p *uint32, v uint32) { atomic.SwapUint32(p, v) }

func store64(p *uint64, v uint64) { atomic.SwapUint64(p, v) }
