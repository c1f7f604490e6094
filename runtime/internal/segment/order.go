//go:build linux

package segment

import "sync/atomic"

// Ranks that wait for each other store a word and then load one that the other stores before it
// loads theirs. One of the two must see the other's store. This holds if every store is visible
// before later loads, as in Go's memory model for atomics. But the race detector's stores only
// release. A swap keeps the guarantee there too, and is the same instruction as a store on amd64.

func store32(p *uint32, v uint32) { atomic.SwapUint32(p, v) }

func store64(p *uint64, v uint64) { atomic.SwapUint64(p, v) }
