package verify

// retire is the property on which the runtime relies when it discards an operation: a rank that has
// returned has nothing left to do except repairs. Rules that wait for a request are part of a
// repair.
var retire = Check{
	Name:    "retire",
	Summary: "once a rank's done slots are set, all its rules have fired, except those of repairs",
	scope:   everySchedule,
	prove:   proveRetire,
}

// proveRetire claims that every slot for which such a rule waits is set when the rank returns. Then
// enter, the slots of done, the chunks that the rank holds and the slots that it has folded are
// set.
func proveRetire(sub *subject) (string, error) {
	var open []claim
	seen := newStamps(sub)
	for rank := range sub.s.Programs {
		p := &sub.s.Programs[rank]
		seen.returned(rank)
		for i := range p.Rules {
			if r := &p.Rules[i]; !r.IsRepair() && !sub.awaitsRequest(rank, r) {
				for _, w := range r.When {
					open = seen.claim(open, rank, w, w)
				}
			}
		}
	}
	return "", prove(sub, open, func(c claim) error {
		return sub.failWithout([]int{c.rank}, c.rank, c.given, c.need,
			"rank %d may return while a rule of it still waits for %v", c.rank, c.asked)
	})
}
