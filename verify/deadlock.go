package verify

// deadlock examines the world in which every multicast is lost and repairs are made as needed. No
// world ends with fewer slots set (see coverage).
var deadlock = Check{
	Name:    "deadlock",
	Summary: "every rank returns: no rank waits for ever",
	scope:   &everySchedule,
	prove:   proveDeadlock,
}

func proveDeadlock(sub *subject) (string, error) {
	for rank := range sub.s.Programs {
		for _, s := range sub.s.Programs[rank].Done {
			if sub.worst.Slot(rank, s) < 0 {
				path, cycle := sub.whyNever(place(rank, s))
				return "", fail(append([]int{rank}, ranksOf(path)...), []Place{place(rank, s)}, path,
					"rank %d never returns, as its %v is never set: %s", rank, s, sub.tellStuck(path, cycle)).in(worstWorld)
			}
		}
	}
	return "", nil
}
