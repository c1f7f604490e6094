package machine

import (
	"fmt"

	"github.com/schedgen/schedgen/internal/ir/numbering"
	"github.com/schedgen/schedgen/ir"
)

// span is the slot numbers lo … hi-1.
type span struct{ lo, hi int32 }

// maxUnnamed is the greatest number of slots that may have a number although the program does not
// name them. A program may leave out some wanted chunks, but no real program leaves out more than
// these.
const maxUnnamed = 1 << 16

// number gives numbers to enter, to the chunks that the rank wants, and to the slots that its
// program names. It takes memory in proportion to the program, and fails if the rank wants many
// more chunks than its program names.
func (pl *Plan) number(h *ir.Header, p *ir.Program) error {
	named := namedBy(p)
	most := maxUnnamed + len(named)
	wanted := h.Wanted(p.Rank)
	if all := pl.told == h.Chunks || wanted.Len() == h.Chunks; all && h.Chunks <= most && p.Signals <= most && p.Values <= most {
		pl.numbers = numbering.Prefix(h.Chunks, p.Signals, p.Values)
		pl.findHolding()
		return nil
	}
	if missing := lacked(wanted, pl.held); missing > most {
		return fmt.Errorf("the rank wants %d chunks that it does not hold, and its program names at most %d", missing, len(named))
	}
	for b := range wanted.Count {
		if block := wanted.At(b); pl.held.Index(block) < 0 {
			for k := block * wanted.Per; k < (block+1)*wanted.Per; k++ {
				named = append(named, ir.Chunk(k))
			}
		}
	}
	pl.numbers = numbering.Of(named)
	pl.findHolding()
	return nil
}

// namedBy returns the slots that p names as its own. Slots may be repeated.
func namedBy(p *ir.Program) []ir.Slot {
	n := len(p.Done)
	for i := range p.Rules {
		n += len(p.Rules[i].When) + 1 + 2*len(p.Rules[i].Do)
	}
	named := append(make([]ir.Slot, 0, n), p.Done...)
	for i := range p.Rules {
		r := &p.Rules[i]
		named = append(named, r.When...)
		if r.IsRepair() {
			named = append(named, r.Unless)
		}
		for _, a := range r.Do {
			if a.Op == ir.Fold {
				named = append(named, a.As)
			}
			switch a.Slot.Kind() {
			case ir.KindChunk, ir.KindValue:
				named = append(named, a.Slot)
			}
		}
	}
	return named
}

// lacked returns how many wanted chunks are not held.
func lacked(wanted, held ir.Chunks) int {
	n := 0
	for b := range wanted.Count {
		if held.Index(wanted.At(b)) < 0 {
			n += wanted.Per
		}
	}
	return n
}

// findHolding finds the numbers of the chunks that the rank holds.
func (pl *Plan) findHolding() {
	chunks, _, _ := pl.numbers.Counts()
	for i := int32(1); pl.held.Len() > 0 && i <= int32(chunks); i++ {
		switch last := len(pl.holding) - 1; {
		case !pl.held.Has(pl.numbers.At(int(i)).Index()):
		case last >= 0 && pl.holding[last].hi == i:
			pl.holding[last].hi++
		default:
			pl.holding = append(pl.holding, span{i, i + 1})
		}
	}
}
