package explore

import (
	"fmt"
	"slices"

	"github.com/schedgen/schedgen/ir"
	"github.com/schedgen/schedgen/runtime/wire"
)

// chunkPut is a put of a chunk or of a partial result: its operation, receiver and slot.
type chunkPut uint32

func newPut(seq uint64, to uint8, slot ir.Slot) chunkPut {
	return chunkPut(uint32(seq)<<27 | uint32(to)<<24 | uint32(slot.Kind())<<20 | uint32(slot.Index()))
}

// record adds what l has sent in a step to what it has put. It returns the problem if l puts a chunk
// again to the same rank: puts are reliable.
func (s *system) record(l *local, sent []send) (problem string) {
	for _, out := range sent {
		h := &s.messages[out.msg].header
		if out.loose || out.flag || h.Kind != wire.FrameSlot || h.Slot.Kind() == ir.KindSignal {
			continue
		}
		for k := range ir.Slot(h.Arg) + 1 {
			p := newPut(h.Seq, out.to, h.Slot+k)
			at, found := slices.BinarySearch(l.puts, p)
			if found {
				return fmt.Sprintf("rank %d puts %v of operation %d to rank %d again", l.rank, h.Slot+k, h.Seq, out.to)
			}
			l.puts = slices.Insert(l.puts, at, p)
		}
	}
	return ""
}
