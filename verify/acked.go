package verify

// acked is about what a sender may conclude from a return: the message is where
// it should be, and its memory may be used for another one (paper 002, section
// 3.3.2).
var acked = Check{
	Name:    "acked",
	Summary: "where the root waits for acknowledgements, it returns only when every rank has every chunk",
	scope:   acknowledged,
	prove:   proveAcked,
}

func proveAcked(sub *subject) (string, error) {
	m, never := chunkMarks(sub)
	root := sub.s.Root
	done := sub.s.Programs[root].Done
	early := func(need Place) error {
		return sub.failWithout([]int{root, need.Rank}, root, done, need,
			"root %d may return before rank %d has %v", root, need.Rank, need.Slot)
	}
	if never != (Place{}) && sub.may.All(root, done) {
		return "", early(never)
	}
	return "", eachWindow(sub, m, 0, len(m.slots), maxRuns, func(a *must) error {
		mark := a.needed(root, done).firstMissing(a.span.lo, a.span.hi)
		if mark >= a.span.hi {
			return nil
		}
		return early(sub.layout.PlaceOf(int(m.slots[mark])))
	})
}
