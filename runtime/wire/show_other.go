//go:build !amd64 || race

package wire

import "sync/atomic"

// show stores v in a word after all earlier stores of this rank, and before its later loads. A store of
// the race detector only releases; a swap also orders the loads.
func show(word *uint64, v uint64) { atomic.SwapUint64(word, v) }
