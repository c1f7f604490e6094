package verify

import (
	"slices"

	"github.com/schedgen/schedgen/ir"
)

// repairsStop checks that a repair is called off only when it is no longer
// needed. Let rank a have a repair with unless u. Then, by must-analysis:
//
//   - What it puts, slot x at rank d, must be set at d whenever u is set at a.
//
//   - Except that a request, which only asks d for chunks, need not have
//     arrived once a has them. x is such a request if it is one of d (see
//     ir.Program.Requests) and the rules of d that wait for it put chunks to
//     nobody but a. Each of these chunks must be set at a whenever u is.
//
//   - u must not have to be set before the repair's own when is and its rank acts:
//     such a repair could never be made.
//
// This is what lets one fixpoint speak for repairs too. In the end every repair
// whose When holds was made or called off, and if it was called off, what it
// would have put is there (or nobody needs the request). So whatever was lost
// and however long everybody waited, the slots that end up set are those of the
// rules with all repairs taken for plain rules, requests aside.
func repairsStop(sub *subject) error {
	var claims []claim
	for rank := range sub.s.Programs {
		rules := sub.s.Programs[rank].Rules
		for i := range rules {
			if rules[i].IsRepair() {
				claims = sub.repairClaims(claims, rank, &rules[i])
			}
		}
	}
	return prove(sub, claims, sub.refuteRepair)
}

func (sub *subject) repairClaims(claims []claim, rank int, r *ir.Rule) []claim {
	unless := []ir.Slot{r.Unless}
	claims = append(claims, claim{rank: rank, given: sub.actsOn(r), need: place(rank, r.Unless), not: true})
	for _, a := range r.Do {
		if a.Op == ir.Mcast {
			for to := range sub.s.Programs {
				if to != rank {
					claims = append(claims, claim{rank: rank, given: unless, need: place(to, a.Slot)})
				}
			}
			continue
		}
		p := place(int(a.To), a.Slot)
		if answers, ok := sub.answers(rank, p); ok {
			for _, slot := range answers {
				claims = append(claims, claim{rank: rank, given: unless, need: place(rank, slot)})
			}
			continue
		}
		claims = append(claims, claim{rank: rank, given: unless, need: p})
	}
	return claims
}

// actsOn returns what is set when the rule acts: in a broadcast also enter.
func (sub *subject) actsOn(r *ir.Rule) []ir.Slot {
	if !sub.s.HasMessage() || contains(r.When, ir.Enter) {
		return r.When
	}
	return append(slices.Clone(r.When), ir.Enter)
}

// answers returns the chunks that the rules waiting for p put to the asker, if
// p is a request that it makes.
func (sub *subject) answers(asker int, p Place) (chunks []ir.Slot, ok bool) {
	if !sub.isRequest(p) {
		return nil, false
	}
	for _, id := range sub.waiters.Of(sub.layout.Slot(p.Rank, p.Slot)) {
		_, i := sub.layout.RuleOf(int(id))
		for _, a := range sub.s.Programs[p.Rank].Rules[i].Do {
			if int(a.To) != asker {
				return nil, false
			}
			chunks = append(chunks, a.Slot)
		}
	}
	return chunks, true
}

func (sub *subject) refuteRepair(c claim) error {
	if c.not {
		return fail([]int{c.rank}, []Place{c.need}, nil,
			"the repair of rank %d when %s can never be made: %v is always set before",
			c.rank, spell(c.given), c.need.Slot)
	}
	return sub.failWithout([]int{c.rank, c.need.Rank}, c.rank, c.given, c.need,
		"%v calls off a repair of rank %d before rank %d has %v", c.given[0], c.rank, c.need.Rank, c.need.Slot)
}
