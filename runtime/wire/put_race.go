//go:build race

package wire

import "sync/atomic"

// put is atomic for the race detector, which takes no other store for one that is.
func put(word *uint64, v uint64) { atomic.StoreUint64(word, v) }
