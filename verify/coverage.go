package verify

// coverage covers all subsets of lost multicasts although it examines only one. If more arrives,
// more ends up set: a rule that fires with fewer slots set also fires with more. So the slots that
// end up set when every multicast is lost end up set in every case. Conversely, the loss of all
// multicasts is itself a case that the schedule must survive. Repairs are not monotone by
// themselves, because an arrival can cancel them. But wellformed has shown that the slot that
// cancels a repair implies everything that the repair would have brought.
var coverage = Check{
	Name:    "coverage",
	Summary: "every rank gets every chunk that it wants whichever multicasts are lost, and returns only when it has them",
	scope:   &everyMessage,
	prove:   proveCoverage,
}

func proveCoverage(sub *subject) (string, error) {
	for rank := range sub.s.Programs {
		lacks := sub.lacks(rank)
		for c, ok := lacks.chunk(); ok; c, ok = lacks.chunk() {
			if sub.worst.Slot(rank, c) < 0 {
				return "", refuteCoverage(sub, place(rank, c))
			}
		}
	}
	return "", provePatience(sub)
}

func refuteCoverage(sub *subject, p Place) error {
	path, cycle := sub.whyNever(p)
	lost := ""
	if sub.calm.Slot(p.Rank, p.Slot) >= 0 {
		lost = ", if all multicasts are lost"
	}
	return fail(ranksOf(path), []Place{p}, path, "rank %d never gets %v%s: %s", p.Rank, p.Slot, lost, sub.tellStuck(path, cycle)).in(worstWorld)
}

// provePatience checks that when a rank returns it has all chunks that it wants. It has the chunks
// that it holds anyway.
func provePatience(sub *subject) error {
	var open []claim
	seen := newStamps(sub)
	for rank := range sub.s.Programs {
		open = seen.patience(open, rank)
	}
	return prove(sub, open, func(c claim) error {
		return sub.failWithout([]int{c.rank}, c.rank, c.given, c.need,
			"rank %d may return before it has %v", c.rank, c.asked)
	})
}

// patience appends the claims that rank has all chunks that it wants when it returns.
func (st *stamps) patience(open []claim, rank int) []claim {
	st.returned(rank)
	lacks := st.sub.lacks(rank)
	for c, ok := lacks.chunk(); ok; c, ok = lacks.chunk() {
		open = st.claim(open, rank, c, c)
	}
	return open
}
