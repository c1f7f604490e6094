package verify

// acked is about what a sender may conclude when its call returns: the message is where it should
// be, and its memory may hold another message (paper 002, section 3.3.2).
var acked = Check{
	Name:    "acked",
	Summary: "if the root (or rank 0 if there is none) waits for acknowledgements, it returns only when every rank has every chunk that it wants",
	scope:   &acknowledged,
	prove:   proveAcked,
}

func proveAcked(sub *subject) (string, error) {
	root := sub.s.Root
	m, never := chunkMarks(sub, root)
	done := sub.s.Programs[root].Done
	who := "rank"
	if sub.s.Rooted() {
		who = "root"
	}
	early := func(need Place) error {
		return sub.failWithout([]int{root, need.Rank}, root, done, need,
			"%s %d may return before rank %d has %v", who, root, need.Rank, need.Slot)
	}
	own := newStamps(sub).patience(nil, root)
	for _, c := range own {
		if sub.layout.Slot(root, c.need.Slot) < 0 { // no program mentions it
			if sub.may.All(root, done) {
				return "", early(c.need)
			}
			return "", nil
		}
	}
	if err := prove(sub, own, func(c claim) error { return early(c.need) }); err != nil {
		return "", err
	}
	if never != (Place{}) && sub.may.All(root, done) {
		return "", early(never)
	}
	return "", eachWindow(&sub.equations, m, len(m.slots), maxRuns, func(a *must) error {
		mark := a.needed(a.Done(root)).firstMissing(a.span.lo, a.span.hi)
		if mark >= a.span.hi {
			return nil
		}
		return early(sub.layout.PlaceOf(int(m.slots[mark])))
	})
}
