//go:build linux

package memory

import "sync/atomic"

// Ranks that wait for each other store a word and then look at one that the
// other stores before it looks at theirs; one of the two must see the other's.
// That holds where every store is seen before what is loaded behind it, as Go's
// memory model has it for atomics, but the stores of the race detector only
// release. A swap keeps the promise there too, and is the same instruction as a
// store on amd64.

func store32(p *uint32, v uint32) { atomic.SwapUint32(p, v) }

func store64(p *uint64, v uint64) { atomic.SwapUint64(p, v) }
