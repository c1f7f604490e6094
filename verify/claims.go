package verify

import (
	"github.com/schedgen/schedgen/ir"
)

// claim says that once all given slots of rank are set, so is need (or, with
// not, that need may still be unset then).
type claim struct {
	rank  int
	given []ir.Slot
	need  Place
	not   bool
}

// prove checks claims by must-analysis and returns what refute makes of one
// that does not hold. Claims about slots that cannot all be set hold.
func prove(sub *subject, claims []claim, refute func(claim) error) error {
	if len(claims) == 0 {
		return nil
	}
	wanted := make([]bool, sub.layout.Slots())
	for _, c := range claims {
		wanted[sub.layout.Slot(c.need.Rank, c.need.Slot)] = true
	}
	m := noMarks(sub).number(wanted)
	return eachWindow(sub, m, 0, len(m.slots), maxRuns, func(a *must) error {
		for _, c := range claims {
			if !a.agrees(c) {
				return refute(c)
			}
		}
		return nil
	})
}

func (a *must) agrees(c claim) bool {
	mark := a.marks.of[a.sub.layout.Slot(c.need.Rank, c.need.Slot)]
	if mark < a.window.lo || mark >= a.window.hi || !a.reached(c.rank, c.given) {
		return true
	}
	return a.anyNeeds(c.rank, c.given, mark) != c.not
}

// anyNeeds reports whether one of the slots of rank needs the mark.
func (a *must) anyNeeds(rank int, slots []ir.Slot, mark int32) bool {
	for _, s := range slots {
		if a.sets[a.slots[a.sub.layout.Slot(rank, s)]].has(mark) {
			return true
		}
	}
	return false
}
