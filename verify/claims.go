package verify

import (
	"github.com/schedgen/schedgen/ir"
)

// claim says that need is set once all given slots of rank are set. With not, it says that need may
// still be unset then.
type claim struct {
	rank  int
	given []ir.Slot
	need  Place
	not   bool
	asked ir.Slot // the slot for which need is needed (see stamps.claim)
	use   ir.Op   // what the rank does with the slot it needs (see allHeld)
	reply bool    // need is a question to the rank, which contributes its answer (see allHeld)
}

// prove checks claims by must-analysis. It returns the result of refute for a claim that does not
// hold. A claim holds if its given slots cannot all be set.
func prove(sub *subject, claims []claim, refute func(claim) error) error {
	if len(claims) == 0 {
		return nil
	}
	wanted := make([]bool, sub.layout.Slots())
	for _, c := range claims {
		wanted[sub.layout.Slot(c.need.Rank, c.need.Slot)] = true
	}
	m := noMarks(sub).number(wanted)
	return eachWindow(&sub.equations, m, len(m.slots), maxRuns, func(a *must) error {
		var given []int32
		var set runs
		var reached bool
		for i, c := range claims {
			if i == 0 || !c.sameGiven(claims[i-1]) {
				given = sub.numbers(given[:0], c.rank, c.given)
				set, reached = a.needed(given), a.reached(given)
			}
			mark := m.of[sub.layout.Slot(c.need.Rank, c.need.Slot)]
			if inside := a.span.lo <= mark && mark < a.span.hi; inside && reached && set.has(mark) == c.not {
				return refute(c)
			}
		}
		return nil
	})
}

// sameGiven reports whether both claims share one list of given slots.
func (c *claim) sameGiven(d claim) bool {
	return c.rank == d.rank && len(c.given) == len(d.given) && len(c.given) > 0 && &c.given[0] == &d.given[0]
}
