package verify

import (
	"github.com/schedgen/schedgen/ir"
)

// retire is the property on which the runtime relies when it discards an operation: a rank that has
// returned has nothing left to do except repairs. Rules that wait for a request are part of a
// repair.
var retire = Check{
	Name:    "retire",
	Summary: "once a rank's done slots are set, all its rules have fired, except those of repairs",
	scope:   everySchedule,
	prove:   proveRetire,
}

func proveRetire(sub *subject) (string, error) {
	var open []claim
	seen := newStamps(sub)
	for rank := range sub.s.Programs {
		p := &sub.s.Programs[rank]
		seen.returned(rank)
		for i := range p.Rules {
			if r := &p.Rules[i]; !r.IsRepair() && !sub.awaitsRequest(rank, r) {
				open = sub.retireClaims(open, seen, rank, r)
			}
		}
	}
	return "", prove(sub, open, func(c claim) error {
		return sub.failWithout([]int{c.rank}, c.rank, c.given, c.need,
			"rank %d may return while a rule of it still waits for %v", c.rank, c.asked)
	})
}

// retireClaims appends claims for the slots for which a rule waits and that are not in done. When
// the rank returns, enter, the chunks that it holds and the slots that it has folded are set.
func (sub *subject) retireClaims(open []claim, done *stamps, rank int, r *ir.Rule) []claim {
	for _, w := range r.When {
		open = done.claim(open, rank, w, w)
	}
	return open
}
