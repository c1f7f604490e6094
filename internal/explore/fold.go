package explore

import (
	"encoding/binary"
	"fmt"

	"github.com/schedgen/schedgen/internal/core"
	"github.com/schedgen/schedgen/internal/ir/fixpoint"
	"github.com/schedgen/schedgen/ir"
)

// tree folds numbers of 4 bytes so that the result shows which numbers were folded in which order
// and with which brackets. It is neither associative nor commutative.
var tree = core.Fold{Name: "tree", Element: pieceBytes, Kernel: func(dst, a, b []byte) {
	for i := 0; i < len(dst); i += pieceBytes {
		x, y := binary.LittleEndian.Uint32(a[i:]), binary.LittleEndian.Uint32(b[i:])
		binary.LittleEndian.PutUint32(dst[i:], (x*0x9E3779B1>>9|x<<23)*3^y+7)
	}
}}

// contribution returns part k of what a rank contributes to call i.
func (s *system) contribution(i, rank, k int) (part []byte) {
	for piece := range s.Pieces {
		part = append(part, byte(i+1), byte(k+1), byte(piece), byte(0x10+rank))
	}
	return part
}

// results returns the chunks of call i by number, with nil for a chunk that no operation produces
// and no rank holds. The contributions are folded as the fixpoint of the schedule says.
func (s *system) results(i int, of *ir.Schedule) ([][]byte, error) {
	res, err := fixpoint.Run(of, fixpoint.Model{})
	if err != nil {
		return nil, err
	}
	chunks := make([][]byte, of.Chunks)
	values := make([]map[ir.Slot][]byte, of.Ranks)
	for rank := range values {
		held := of.Held(rank)
		for k := range held.All() {
			chunks[k] = s.given(i, k)
		}
		values[rank] = make(map[ir.Slot][]byte)
	}
	bytesOf := func(rank int, x ir.Slot) []byte {
		switch x.Kind() {
		case ir.KindInput:
			return s.contribution(i, rank, x.Index())
		case ir.KindChunk:
			return chunks[x.Index()]
		}
		return values[rank][x]
	}
	for _, id := range res.Fired() {
		rank, rule := res.Layout().RuleOf(int(id))
		for do := of.Programs[rank].Rules[rule].Do; len(do) > 0; {
			message := ir.MessageOf(do)
			do = do[len(message):]
			if message[0].Op == ir.Fold {
				made := message[0].As
				result := append([]byte(nil), bytesOf(rank, message[0].Slot)...)
				for _, a := range message[1:] {
					operand := bytesOf(rank, a.Slot)
					if len(operand) != len(result) {
						return nil, fmt.Errorf("rank %d folds %v, which it does not have, into %v", rank, a.Slot, made)
					}
					tree.Kernel(result, result, operand)
				}
				if made.Kind() == ir.KindChunk {
					chunks[made.Index()] = result
				} else {
					values[rank][made] = result
				}
				continue
			}
			for _, a := range message {
				if a.As != ir.None {
					values[a.To][a.As] = bytesOf(rank, a.Slot)
				}
			}
		}
	}
	return chunks, nil
}
