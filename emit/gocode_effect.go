package emit

import (
	"encoding/binary"
	"slices"

	"github.com/schedgen/schedgen/ir"
)

// effect is what a slot that becomes set does.
type effect struct {
	done     bool // the operation waits for it
	triggers []trigger
}

// trigger is a place among the slots that the rules of a family wait for: of a
// family of several rules, the slot's index says which.
type trigger struct{ family, span int }

// slotClass is slots of one kind that have the same effect: lo, lo+stride, … up to
// hi-1, or, of the last class of a kind, all that the others leave.
type slotClass struct {
	effect
	lo, hi, stride goNumber
	total          int  // slots of the kind
	whole          bool // of a role: they are all slots with the remainder lo by stride
}

// effects finds what the slots of a rank trigger. The families are known.
func (t *taker) effects(c *goCode) {
	all := make([]effect, len(t.done))
	for b := range all {
		all[b].done = t.done[b]
	}
	for i, f := range c.families {
		for k := range f.times.at() {
			for j := range f.when {
				first := firstBit(t.Schedule, &f.when[j]) + k*f.step[j].at()
				for b := first; b < first+f.when[j].n.at(); b++ {
					all[b].triggers = append(all[b].triggers, trigger{i, j})
				}
			}
		}
	}
	c.enter = all[0]
	c.chunk = classes(all[1 : 1+t.Chunks])
	c.signal = classes(all[1+t.Chunks:])
}

// firstBit returns the bit of the first slot of a span.
func firstBit(s *ir.Schedule, of *slotSpan) int {
	switch of.kind {
	case ir.KindEnter:
		return 0
	case ir.KindChunk:
		return 1 + of.first.at()
	}
	return 1 + s.Chunks + of.first.at()
}

// classes sorts slots by their effects.
func classes(effects []effect) []slotClass {
	slots := make(map[string][]int)
	var order []string
	for i := range effects {
		key := effects[i].key()
		if slots[key] == nil {
			order = append(order, key)
		}
		slots[key] = append(slots[key], i)
	}
	rest := -1 // the class that is no progression, or does the least
	for i, key := range order {
		if _, ok := progression(slots[key]); ok {
			continue
		}
		if rest >= 0 {
			return runsOfSlots(effects)
		}
		rest = i
	}
	if rest < 0 && len(order) > 0 {
		rest = 0
		for i, key := range order {
			if len(key) <= len(order[rest]) {
				rest = i
			}
		}
	}
	var out []slotClass
	for i, key := range order {
		if i != rest {
			out = append(out, newClass(effects, slots[key]))
		}
	}
	if rest >= 0 {
		out = append(out, newClass(effects, slots[order[rest]]))
	}
	return out
}

// runsOfSlots is a class for each run of slots with the same effect.
func runsOfSlots(effects []effect) []slotClass {
	var out []slotClass
	for i := 0; i < len(effects); {
		run := []int{i}
		for i++; i < len(effects) && effects[i].key() == effects[run[0]].key(); i++ {
			run = append(run, i)
		}
		out = append(out, newClass(effects, run))
	}
	return out
}

func newClass(effects []effect, slots []int) slotClass {
	stride, _ := progression(slots)
	lo, hi := slots[0], slots[len(slots)-1]+1
	return slotClass{
		effect: effects[lo],
		lo:     one(lo),
		hi:     one(hi),
		stride: goNumber{values: []int{stride}, free: len(slots) == 1},
		total:  len(effects),
	}
}

// progression returns by how much each number is larger than the one before.
func progression(sorted []int) (stride int, ok bool) {
	if len(sorted) == 1 {
		return 1, true
	}
	stride = sorted[1] - sorted[0]
	for i := range sorted[1:] {
		if sorted[i+1]-sorted[i] != stride {
			return 1, false
		}
	}
	return stride, true
}

// key spells the effect.
func (e *effect) key() string {
	b := []byte{0}
	if e.done {
		b[0] = 1
	}
	for _, t := range e.triggers {
		b = binary.AppendVarint(b, int64(t.family))
		b = binary.AppendVarint(b, int64(t.span))
	}
	return string(b)
}

// anyRepair reports whether slots of any of the effects make repairs due.
func (c *goCode) anyRepair(effects ...effect) bool {
	return slices.ContainsFunc(effects, func(e effect) bool {
		return slices.ContainsFunc(e.triggers, func(t trigger) bool { return c.families[t.family].repair })
	})
}
