package simnet

import (
	"github.com/schedgen/schedgen/ir"
	"github.com/schedgen/schedgen/runtime/wire"
)

// put is a chunk or a partial result that a rank has put to another.
type put struct {
	from, to int
	seq      uint64
	slot     ir.Slot
}

// checkPut checks a frame that a rank puts. Puts are reliable, so no rank puts a chunk to another
// twice, whether a rule, a repair or a request asks for it.
func (c *checker) checkPut(from, to int, f *wire.Frame) {
	if f.Kind != wire.FrameSlot || f.Slot.Kind() == ir.KindSignal {
		return
	}
	for k := range ir.Slot(f.Arg) + 1 {
		p := put{from, to, f.Seq, f.Slot + k}
		if c.puts[p] {
			c.fail("rank %d puts %v of operation %d to rank %d again", from, p.slot, f.Seq, to)
		}
		c.puts[p] = true
	}
}
