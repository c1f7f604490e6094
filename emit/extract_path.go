package emit

import (
	"fmt"
	"slices"

	"github.com/schedgen/schedgen/ir"
)

// pickPath chooses the ranks on the critical path. If the path is long, it chooses both ends.
func (t *run) pickPath(most int) pick {
	path := t.path()
	why := "the critical path to the last return"
	if n := len(path); n > most {
		why = fmt.Sprintf("both ends of the critical path over %s to the last return", count(n, "rank"))
		path = slices.Concat(path[:most/2], path[n-(most-most/2):])
	}
	slices.Sort(path)
	return pick{path, -1, why}
}

// path returns the ranks on which the last return depends, each once. Each rank waits for the next
// one, and the last one has only entered.
func (t *run) path() []int {
	rank := t.lastToReturn()
	if rank < 0 {
		return nil
	}
	out, seen := []int{rank}, map[int]bool{rank: true}
	slot := t.latest(rank, t.lastWaits(rank))
	for slot >= 0 && t.fix.Cause(slot) >= 0 {
		from, i := t.fix.Layout().RuleOf(t.fix.Cause(slot))
		if !seen[from] {
			seen[from] = true
			out = append(out, from)
		}
		slot = t.latest(from, t.Programs[from].Rules[i].When)
	}
	return out
}

// lastToReturn returns a rank whose call returns last, or -1 if no call returns. It prefers a rank
// that waits for a slot to one that waits only for its own sends.
func (t *run) lastToReturn() int {
	for rank, at := range t.returns {
		if slot := t.latest(rank, t.Programs[rank].Done); at == t.rounds && slot >= 0 && int(t.fix.Slots()[slot]) == at {
			return rank
		}
	}
	return slices.Index(t.returns, t.rounds)
}

// lastWaits returns the slots for which the return of a rank waits last. These are the slots of the
// rule by which it sends last if that delays the call, and otherwise its Done slots.
func (t *run) lastWaits(rank int) []ir.Slot {
	p := &t.Programs[rank]
	if slot := t.latest(rank, p.Done); slot >= 0 && int(t.fix.Slots()[slot]) == t.returns[rank] {
		return p.Done
	}
	for i := range p.Rules {
		rule := &p.Rules[i]
		if len(rule.Do) > 0 && t.fix.Rule(rank, i)+1 == t.returns[rank] && !t.onRequest[t.fix.Layout().Rule(rank, i)] {
			return rule.When
		}
	}
	return p.Done
}

// latest returns the number of the slot of a rank that is set last, or -1 if slots is empty.
func (t *run) latest(rank int, slots []ir.Slot) int {
	last := -1
	for _, s := range slots {
		id := t.fix.Layout().Slot(rank, s)
		if last < 0 || t.fix.Slots()[id] > t.fix.Slots()[last] {
			last = id
		}
	}
	return last
}
