//go:build !race

package wire

import "sync/atomic"

// show stores v in a word after all earlier stores of this rank, and before its later loads. Go's
// compiler keeps the order of stores, and the processor makes them visible in this order.
//
// A swap of the word itself would wait until the core has the word's line. Meanwhile, or just before, a
// reader may fetch the line back, with the earlier stores but without v, and the swap waits for it
// again. Plain stores enter a line together. The swap of a word that no other core has only waits until
// they have.
func show(word *uint64, v uint64) {
	*word = v
	var own uint32
	atomic.SwapUint32(&own, 1)
}
