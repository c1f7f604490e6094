package verify

import (
	"github.com/schedgen/schedgen/ir"
)

// acked applies where the root waits for something before it returns: what it
// waits for is then an acknowledgement.
var acked = Check{
	Name:    "acked",
	Summary: "where the root waits for acknowledgements, it returns only when every rank has every chunk",
	applies: isAcked,
	prove:   proveAcked,
}

func isAcked(s *ir.Schedule) bool {
	if !moves(s) || s.Root < 0 || s.Root >= len(s.Programs) {
		return false
	}
	for _, slot := range s.Programs[s.Root].Done {
		if slot.Kind() == ir.KindSignal {
			return true
		}
	}
	return false
}

func proveAcked(sub *subject) (string, error) {
	m := chunkMarks(sub)
	root := sub.s.Root
	done := sub.s.Programs[root].Done
	return "", eachWindow(sub, m, 0, len(m.slots), maxRuns, func(a *must) error {
		mark := a.needed(root, done).firstMissing(a.window.lo, a.window.hi)
		if mark >= a.window.hi {
			return nil
		}
		need := sub.layout.PlaceOf(int(m.slots[mark]))
		return sub.failWithout([]int{root, need.Rank}, root, done, need,
			"root %d may return before rank %d has %v", root, need.Rank, need.Slot)
	})
}
