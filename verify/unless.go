package verify

import (
	"slices"

	"github.com/schedgen/schedgen/ir"
)

// repairsStart checks that the slots for which a repair waits can be set. If one is never set, the
// repair is never made.
func repairsStart(sub *subject) error {
	var err error
	sub.eachRule(func(rank int, r *ir.Rule) {
		for _, w := range r.When {
			if err == nil && r.IsRepair() && sub.may.Slot(rank, w) < 0 {
				err = fail([]int{rank}, []Place{place(rank, w)}, nil,
					"the repair of rank %d when %s can never be made: %v is never set", rank, spell(r.When), w)
			}
		}
	})
	return err
}

// repairsStop checks that a repair is cancelled only when everything that it brings is there. Let
// rank a have a repair with unless u. Then must-analysis checks:
//
//   - If the repair puts slot x at rank d, x must be set at d whenever u is set at a.
//   - The exception is a request, which only asks d for chunks and need not have arrived itself. x
//     is a request if it is one of d (see ir.Program.Requests). Instead, every chunk that the rules
//     of d put upon x, to any rank, must be there whenever u is set at a.
//   - u must not have to be set before the repair's own When is set and its rank acts. Such a
//     repair could never be made.
//
// So one fixpoint covers repairs too. At the end every repair whose When holds was made or
// cancelled. If it was cancelled, everything that it would have brought is there. So whatever was
// lost and however long ranks waited, the same slots end up set as if all repairs were plain rules,
// except requests.
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
		if !sub.isRequest(p) {
			claims = append(claims, claim{rank: rank, given: unless, need: p})
			continue
		}
		for _, answer := range sub.answers(p) {
			claims = append(claims, claim{rank: rank, given: unless, need: answer})
		}
	}
	return claims
}

// actsOn returns the slots that are set when the rule acts. In a broadcast they include enter.
func (sub *subject) actsOn(r *ir.Rule) []ir.Slot {
	if !sub.s.HasMessage() || contains(r.When, ir.Enter) {
		return r.When
	}
	return append(slices.Clone(r.When), ir.Enter)
}

// answers returns the slots that rules which wait for a request put.
func (sub *subject) answers(request Place) []Place {
	var chunks []Place
	for _, id := range sub.Waiters(sub.layout.Slot(request.Rank, request.Slot)) {
		_, i := sub.layout.RuleOf(int(id))
		for _, a := range sub.s.Programs[request.Rank].Rules[i].Do {
			chunks = append(chunks, place(int(a.To), a.Slot))
		}
	}
	return chunks
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
