package machine

import (
	"fmt"

	"github.com/schedgen/schedgen/ir"
)

// partsOf returns, for each partial result, the part of the contributions that it is folded from:
// v<i> has the length of x<parts[i]>. It returns an error if a part is unknown, or if one fold
// mixes parts.
func partsOf(h *ir.Header, p *ir.Program) ([]int32, error) {
	if p.Values == 0 {
		return nil, checkParts(h, p, nil)
	}
	parts := make([]int32, p.Values)
	for v := range parts {
		parts[v] = -1
	}
	for again := true; again; {
		again = false
		eachOperand(p, func(_ int, a ir.Action) {
			for _, x := range [2][2]ir.Slot{{a.As, a.Slot}, {a.Slot, a.As}} {
				if x[0].Kind() != ir.KindValue || parts[x[0].Index()] >= 0 {
					continue
				}
				if part := partOf(h, parts, x[1]); part >= 0 {
					parts[x[0].Index()], again = part, true
				}
			}
		})
	}
	for v, part := range parts {
		if part < 0 {
			return nil, fmt.Errorf("v%d: no fold tells its part of the contributions", v)
		}
	}
	return parts, checkParts(h, p, parts)
}

func checkParts(h *ir.Header, p *ir.Program, parts []int32) (err error) {
	eachOperand(p, func(rule int, a ir.Action) {
		if a.Joins && !h.Folds() && err == nil {
			err = fmt.Errorf("rule %d folds several slots, but %s folds nothing", rule, h.Collective)
		}
		if made, of := partOf(h, parts, a.As), partOf(h, parts, a.Slot); made != of && err == nil {
			err = fmt.Errorf("rule %d folds %v, of part %d of the contributions, into %v, of part %d", rule, a.Slot, of, a.As, made)
		}
	})
	return err
}

func eachOperand(p *ir.Program, f func(rule int, a ir.Action)) {
	for i := range p.Rules {
		for _, a := range p.Rules[i].Do {
			if a.Op == ir.Fold {
				f(i, a)
			}
		}
	}
}

// partOf returns the part that a slot belongs to, or -1 if it is unknown. In a collective that does
// not fold, each chunk is a part.
func partOf(h *ir.Header, parts []int32, s ir.Slot) int32 {
	switch s.Kind() {
	case ir.KindInput:
		return int32(s.Index())
	case ir.KindValue:
		return parts[s.Index()]
	case ir.KindChunk:
		if h.Folds() {
			return int32(h.InputOf(s.Index()))
		}
		return int32(s.Index())
	}
	return -1
}

// Parts returns, for each partial result, the part of the contributions that it is folded from,
// which has the same length. The caller must not modify the slice.
func (pl *Plan) Parts() []int32 { return pl.parts }
