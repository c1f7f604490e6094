package term

import (
	"github.com/schedgen/schedgen/internal/ir/fixpoint"
	"github.com/schedgen/schedgen/ir"
)

// Run holds the terms of all slots in one run of a schedule.
type Run struct {
	Table
	layout *fixpoint.Layout
	slots  []Term // by slot number of the layout
}

// Of returns the terms of the slots in a run of s. If a slot is set several times, the first copy
// counts, as at run time. Slots without bytes, and chunks that ranks hold, have no term.
func Of(s *ir.Schedule, run *fixpoint.Result) *Run {
	r := &Run{layout: run.Layout()}
	r.slots = make([]Term, r.layout.Slots())
	for _, id := range run.Fired() {
		rank, i := r.layout.RuleOf(int(id))
		for do := s.Programs[rank].Rules[i].Do; len(do) > 0; {
			message := ir.MessageOf(do)
			do = do[len(message):]
			if message[0].Op == ir.Fold {
				x := r.Slot(rank, message[0].Slot)
				for _, a := range message[1:] {
					x = r.Fold(x, r.Slot(rank, a.Slot))
				}
				r.set(run, rank, message[0].As, int(id), x)
				continue
			}
			for _, a := range message {
				x := r.Slot(rank, a.Slot)
				switch {
				case x == 0:
				case a.Op == ir.Put:
					r.set(run, int(a.To), a.Sets(), int(id), x)
				default:
					for to := range s.Ranks {
						r.set(run, to, a.Slot, int(id), x)
					}
				}
			}
		}
	}
	return r
}

// set records the term that a rule has brought to a slot, if that rule was the first to set the
// slot.
func (r *Run) set(run *fixpoint.Result, rank int, s ir.Slot, rule int, x Term) {
	if id := r.layout.Slot(rank, s); id >= 0 && run.Cause(id) == rule {
		r.slots[id] = x
	}
}

// Slot returns the term that a slot of rank has at the end, 0 if it has none.
func (r *Run) Slot(rank int, s ir.Slot) Term {
	if s.Kind() == ir.KindInput {
		return r.Table.Of(rank)
	}
	if id := r.layout.Slot(rank, s); id >= 0 {
		return r.slots[id]
	}
	return 0
}
