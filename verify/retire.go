package verify

import "github.com/schedgen/schedgen/ir"

// retire is the property on which the runtime relies when it discards an operation: a rank that has
// returned has nothing left to do except to answer requests. Rules that wait for a request are part
// of another rank's repair. The rank's own repairs end before it returns, because done waits for
// the slot that calls each off. Otherwise a multicast that is lost would never be repaired: the
// rank returns, and the runtime forgets the repair.
var retire = Check{
	Name:    "retire",
	Summary: "once a rank's done slots are set, all its rules have fired, except those that answer requests, and its repairs are called off",
	scope:   &everySchedule,
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
			if r := &p.Rules[i]; !r.IsRepair() && !sub.awaitsRequest(sub.layout.Rule(rank, i)) {
				for _, w := range r.When {
					open = seen.claim(open, rank, w, w)
				}
			}
		}
	}
	err := prove(sub, open, func(c claim) error {
		return sub.failWithout([]int{c.rank}, c.rank, c.given, c.need,
			"rank %d may return while a rule of it still waits for %v", c.rank, c.asked)
	})
	if err != nil {
		return "", err
	}
	return "", repairsAwaited(sub)
}

// repairsAwaited checks that done lists the slot that calls off each repair. It must do so
// literally, even if other slots of done imply the slot: a runtime knows only its own program.
func repairsAwaited(sub *subject) error {
	var err error
	sub.eachRule(func(rank int, r *ir.Rule) {
		if err == nil && r.IsRepair() && !contains(sub.s.Programs[rank].Done, r.Unless) {
			err = fail([]int{rank}, []Place{place(rank, r.Unless)}, nil,
				"rank %d may return before %v calls off a repair of it: done does not wait for %v", rank, r.Unless, r.Unless)
		}
	})
	return err
}
